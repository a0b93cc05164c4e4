// attnbench convert: a result in the form that other programs read.
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/commands/commands.h"
#include "harness/commands/options.h"
#include "harness/results/gbench.h"
#include "harness/system/result_file.h"

namespace attnbench {
namespace {

struct ConvertArguments {
  std::string result;
  std::string format;
  std::string output;
  bool force = false;
};

int RunConvert(const ConvertArguments& arguments) {
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
    RefuseToReplace({arguments.result}, arguments.output);
    file.emplace(arguments.output, arguments.force);
  }
  const Json made = ToGoogleBenchmark(ReadResult(arguments.result).result);
  if (file) {
    file->Write(made);
  } else {
    std::cout << made.dump(1) << "\n";
  }
  return 0;
}

}  // namespace

void AddConvert(CLI::App& app, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "convert", "write a result of run-sweep in the form of another program");
  const auto arguments = std::make_shared<ConvertArguments>();
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
  command->callback([&run, arguments] {
    run = [arguments] { return RunConvert(*arguments); };
  });
}

}  // namespace attnbench
