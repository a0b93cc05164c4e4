// attnbench roofline: the machine's measured limits as a table, and as a result
// file.
#include "harness/machine/roofline.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/printable.h"
#include "harness/campaign/progress.h"
#include "harness/commands/commands.h"
#include "harness/commands/options.h"
#include "harness/machine/environment.h"
#include "harness/machine/load_watch.h"
#include "harness/machine/validity.h"
#include "harness/results/sweep_result.h"
#include "harness/system/result_file.h"

namespace attnbench {
namespace {

// The result document (results/schema/roofline.schema.json).
struct RooflineResult {
  int schema_version = kSchemaVersion;
  std::string kind = "roofline";
  Context context;
  std::vector<MachineLimits> limits;

  static void Fields(auto& self, auto& visit) {
    visit("schema_version", self.schema_version);
    visit("kind", self.kind);
    visit("context", self.context);
    visit("limits", self.limits);
  }
};

struct RooflineArguments {
  std::string threads;
  std::string precision;
  std::string output;
  bool quick = false;
  bool force = false;
  bool json = false;
};

void AddOptions(CLI::App& command, RooflineArguments& arguments) {
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

// The values of an axis of the sweep: the given ones, or the defaults.
std::vector<AxisValue> ValuesOf(const std::string& name,
                                const std::string& given,
                                const std::string& by_default) {
  const std::string option = "--" + name;
  std::vector<AxisValue> values = ParseAxisValues(
      FindAxis(name, option), given.empty() ? by_default : given, option);
  if (given.starts_with('=')) {
    throw UserError(option, fmt::format("'{}' is another axis, which only a "
                                        "sweep has; such as 1,2",
                                        Shortened(given)));
  }
  return values;
}

std::string SizeText(Index bytes) {
  if (bytes < (Index{1} << 20)) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} MiB", bytes >> 20);
}

// "40.2 [38.9, 40.2]", in giga
std::string RateText(double best, const std::optional<Interval>& interval) {
  std::string text = fmt::format("{:.1f}", best * 1e-9);
  if (!interval) return text;
  return text + fmt::format(" [{:.1f}, {:.1f}]", interval->low * 1e-9,
                            interval->high * 1e-9);
}

std::string LimitsTable(const std::vector<MachineLimits>& all) {
  std::string text = fmt::format("{:<10}{:>8}  {:<8}{:>10}{:>24}{:>24}{:>24}\n",
                                 "precision", "threads", "limit", "a thread",
                                 "GFLOP/s", "read GB/s", "copy GB/s");
  for (const MachineLimits& limits : all) {
    text += fmt::format(
        "{:<10}{:>8}  {:<8}{:>10}{:>24}\n", NameOf(limits.precision),
        limits.threads, "compute", "",
        RateText(limits.peak_flops_per_s, limits.peak_interval_flops_per_s));
    for (const LevelLimits& level : limits.levels) {
      text += fmt::format(
          "{:<10}{:>8}  {:<8}{:>10}{:>24}{:>24}{:>24}\n",
          NameOf(limits.precision), limits.threads, level.name,
          level.size_bytes ? SizeText(*level.size_bytes) : "", "",
          RateText(level.read_bytes_per_s, level.read_interval_bytes_per_s),
          RateText(level.copy_bytes_per_s, level.copy_interval_bytes_per_s));
    }
  }
  return text +
         "(best of all rounds, of all threads together, and in [] the interval "
         "of the rounds; copy: bytes read and bytes written)\n";
}

int RunRoofline(const std::string& command_line,
                const RooflineArguments& arguments) {
  const int cores = Cores();
  const std::vector<AxisValue> threads =
      ValuesOf("threads", arguments.threads,
               cores == 1 ? "1" : fmt::format("1,{}", cores));
  const std::vector<AxisValue> precisions =
      ValuesOf("precision", arguments.precision, "f32,f64");
  const std::optional<ResultFile> file =
      FileIfNamed(arguments.output, arguments.force);
  RooflineResult result;
  result.context = MakeContext(command_line, /*seed=*/0);
  LoadWatch watch = BeginWatch(result.context);
  CountProgress progress("roofline", "settings", /*tells_time=*/true);
  for (const AxisValue& number : threads) {
    for (const AxisValue& precision : precisions) {
      result.limits.push_back(
          MeasureLimits(FindNamed<Precision>(precision.text()).value(),
                        static_cast<int>(number.whole()),
                        arguments.quick ? kQuickRoofline : RooflineOptions()));
      progress.ShowCount(result.limits.size(),
                         threads.size() * precisions.size());
    }
  }
  LookAgain(watch, /*calibration=*/{}, result.context);
  const Json document = ToJson(result);
  if (file) file->Write(document);
  std::cout << (arguments.json ? JsonText(document)
                               : PrintableLines(ValidityLines(result.context) +
                                                LimitsTable(result.limits)));
  return 0;
}

}  // namespace

void AddRoofline(CLI::App& app, const std::string& command_line, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "roofline",
      "measure this machine's limits: flops, and bandwidth of every level of "
      "its memory");
  const auto arguments = std::make_shared<RooflineArguments>();
  AddOptions(*command, *arguments);
  OnAsked(*command, run, [command_line, arguments] {
    return RunRoofline(command_line, *arguments);
  });
}

}  // namespace attnbench
