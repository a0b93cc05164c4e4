// attnbench convert: a result in the form that other programs read.
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/commands/commands.h"
#include "harness/commands/output_options.h"
#include "harness/error.h"
#include "harness/gbench.h"
#include "harness/result_file.h"
#include "harness/result_reader.h"

namespace attnbench {
namespace {

struct Arguments {
  std::string result;
  std::string format;
  std::string output;
  bool force = false;
};

int RunConvert(const AxisTable& table, const Arguments& arguments) {
  if (arguments.result.empty()) {
    throw UserError("convert", "a result is needed, e.g. convert mine.json");
  }
  if (arguments.format.empty()) {
    throw UserError("--format", "is needed; valid: gbench");
  }
  const std::vector<std::string> formats = {"gbench"};
  if (!Contains(formats, arguments.format)) {
    throw UserError("--format",
                    UnknownName("format", arguments.format, formats));
  }
  std::optional<ResultFile> file;
  if (!arguments.output.empty()) {
    file.emplace(arguments.output, arguments.force);
  }
  const Json made =
      ToGoogleBenchmark(table, ReadResult(table, arguments.result).json);
  if (file) {
    file->Write(made);
  } else {
    std::cout << made.dump(1) << "\n";
  }
  return 0;
}

}  // namespace

void AddConvert(CLI::App& app, const AxisTable& table, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "convert", "write a result of run-sweep in the form of another program");
  const auto arguments = std::make_shared<Arguments>();
  command
      ->add_option("result", arguments->result,
                   "the result, e.g. convert mine.json --format gbench")
      ->type_name("RESULT");
  command
      ->add_option("--format", arguments->format,
                   "gbench: Google Benchmark's JSON, which its compare.py "
                   "reads, e.g. --format gbench")
      ->type_name("NAME");
  AddOutput(*command, "the file instead of standard output", "gbench.json",
            arguments->output, arguments->force);
  command->callback([&table, &run, arguments] {
    run = [&table, arguments] { return RunConvert(table, *arguments); };
  });
}

}  // namespace attnbench
