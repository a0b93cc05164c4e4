// attnbench roofline: the machine's measured limits as a table, and as a result
// file.
#include "harness/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/commands/commands.h"
#include "harness/commands/output_options.h"
#include "harness/environment.h"
#include "harness/error.h"
#include "harness/load_watch.h"
#include "harness/result_file.h"
#include "harness/result_schema.h"

namespace attnbench {
namespace {

struct Arguments {
  std::string threads;
  std::string precision;
  std::string output;
  bool quick = false;
  bool force = false;
  bool json = false;
};

void AddOptions(CLI::App& command, Arguments& arguments) {
  command
      .add_option("-j,--threads", arguments.threads,
                  "threads at once, e.g. -j 1,2 (default: 1, and all cores)")
      ->type_name("LIST");
  command
      .add_option("--precision", arguments.precision,
                  "widths of a number, e.g. --precision f32 (default f32,f64)")
      ->type_name("LIST");
  command.add_flag("--quick", arguments.quick,
                   "fewer and shorter rounds, e.g. --quick -j 1");
  AddOutput(command, "the result file", "roofline.json", arguments.output,
            arguments.force);
  command.add_flag("--json", arguments.json,
                   "print the result instead of the table, e.g. --json");
}

// The values asked for, of an axis of the sweep.
std::vector<Json> ValuesOf(const AxisTable& table, const std::string& name,
                           const std::string& given,
                           const std::string& by_default) {
  const std::string option = "--" + name;
  std::vector<Json> values =
      ParseAxisValues(table, FindAxis(table, name, option),
                      given.empty() ? by_default : given, option);
  if (given.starts_with('=')) {
    throw UserError(option, fmt::format("'{}' is another axis, which only a "
                                        "sweep has; such as 1,2",
                                        given));
  }
  return values;
}

std::string SizeText(Index bytes) {
  if (bytes < (Index{1} << 20)) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} MiB", bytes >> 20);
}

std::string Table(const std::vector<MachineLimits>& all) {
  std::string text = fmt::format("{:<10}{:>8}  {:<8}{:>10}{:>10}{:>10}{:>10}\n",
                                 "precision", "threads", "limit", "a thread",
                                 "GFLOP/s", "read GB/s", "copy GB/s");
  for (const MachineLimits& limits : all) {
    text += fmt::format("{:<10}{:>8}  {:<8}{:>10}{:>10.1f}\n", limits.precision,
                        limits.threads, "compute", "",
                        limits.peak_flops_per_s * 1e-9);
    for (const LevelLimits& level : limits.levels) {
      text += fmt::format("{:<10}{:>8}  {:<8}{:>10}{:>10}{:>10.1f}{:>10.1f}\n",
                          limits.precision, limits.threads, level.name,
                          level.size_bytes ? SizeText(*level.size_bytes) : "",
                          "", level.read_bytes_per_s * 1e-9,
                          level.copy_bytes_per_s * 1e-9);
    }
  }
  return text +
         "(best of all rounds, of all threads together; copy: bytes read and "
         "bytes written)\n";
}

int RunRoofline(const AxisTable& table, const std::string& command_line,
                const Arguments& arguments) {
  const int cores = Cores();
  const std::vector<Json> threads =
      ValuesOf(table, "threads", arguments.threads,
               cores == 1 ? "1" : fmt::format("1,{}", cores));
  const std::vector<Json> precisions =
      ValuesOf(table, "precision", arguments.precision, "f32,f64");
  std::optional<ResultFile> file;
  if (!arguments.output.empty()) {
    file.emplace(arguments.output, arguments.force);
  }
  Json document = {{"schema_version", kSchemaVersion},
                   {"kind", "roofline"},
                   {"context", MakeContext(command_line, /*seed=*/0)}};
  LoadWatch watch = BeginWatch(document["context"]);
  std::vector<MachineLimits> all;
  for (const Json& number : threads) {
    for (const Json& precision : precisions) {
      all.push_back(
          MeasureLimits(precision.get<std::string>(), number.get<int>(),
                        arguments.quick ? kQuickRoofline : RooflineOptions()));
    }
  }
  document["limits"] = ToJson(all);
  LookAgain(watch, document["context"]);
  if (file) file->Write(document);
  std::cout << (arguments.json ? document.dump() + "\n" : Table(all));
  return 0;
}

}  // namespace

void AddRoofline(CLI::App& app, const AxisTable& table,
                 const std::string& command_line, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "roofline",
      "measure this machine's limits: flops, and bandwidth of every level of "
      "its memory");
  const auto arguments = std::make_shared<Arguments>();
  AddOptions(*command, *arguments);
  command->callback([&table, &run, command_line, arguments] {
    run = [&table, command_line, arguments] {
      return RunRoofline(table, command_line, *arguments);
    };
  });
}

}  // namespace attnbench
