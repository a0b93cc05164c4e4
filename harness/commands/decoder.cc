// attnbench decoder: whole encoders and decoders with random weights, timed
// with every mechanism, as a table and as a result file.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/exit_code.h"
#include "harness/base/parse_text.h"
#include "harness/campaign/decoder_processes.h"
#include "harness/campaign/decoder_timing.h"
#include "harness/campaign/estimate.h"
#include "harness/campaign/progress.h"
#include "harness/commands/commands.h"
#include "harness/commands/options.h"
#include "harness/machine/environment.h"
#include "harness/machine/load_watch.h"
#include "harness/machine/roofline.h"
#include "harness/machine/validity.h"
#include "harness/measure/decoder_ratios.h"
#include "harness/system/result_file.h"
#include "harness/system/source_tree.h"

namespace attnbench {
namespace {

struct Arguments {
  std::string experiment;
  std::string output;
  std::string repetitions;
  std::string processes;
  std::string seed;
  bool quick = false;
  bool force = false;
  bool json = false;
  bool dry_run = false;
  bool is_part = false;
};

void AddOptions(CLI::App& command, Arguments& arguments) {
  command
      .add_option("EXPERIMENT.json", arguments.experiment,
                  "an experiment of kind decoder, e.g. "
                  "experiments/britz_table1.json")
      ->type_name("FILE");
  AddOutput(command, "the result file", "britz_table1.json", arguments.output,
            arguments.force);
  command.add_flag("--quick", arguments.quick,
                   "the experiment's quick profile, e.g. --quick -o q.json");
  command
      .add_option("--repetitions", arguments.repetitions,
                  "rounds instead of the experiment's, e.g. --repetitions 20")
      ->type_name("N");
  command
      .add_option("--processes", arguments.processes,
                  "fresh processes, one after another, that each measure all "
                  "rounds: layout in memory moves times by more than rounds "
                  "show, e.g. --processes 5 (default 1)")
      ->type_name("N");
  // What such a process is started with: prints the result, and looks at no
  // limits of the machine.
  command.add_flag("--part", arguments.is_part, "")->group("");
  AddSeed(command, "of weights, sources and order, e.g. --seed 7",
          arguments.seed);
  command.add_flag("--json", arguments.json,
                   "print JSON instead of the table, e.g. --json");
  command.add_flag("--dry-run", arguments.dry_run,
                   "show points, cells and about how long it takes, e.g. "
                   "--dry-run");
}

DecoderExperiment ReadRequest(const AxisTable& table,
                              const Arguments& arguments) {
  if (arguments.experiment.empty()) {
    throw UserError("decoder",
                    "name an experiment of kind decoder, such as "
                    "experiments/britz_table1.json");
  }
  DecoderExperiment experiment =
      ReadDecoderExperiment(table, HereOrInSources(arguments.experiment),
                            arguments.quick ? "quick" : "full");
  if (!arguments.repetitions.empty()) {
    experiment.repetitions = static_cast<int>(ParseInteger(
        arguments.repetitions, 1, kMostRepetitions, "--repetitions"));
  }
  if (!arguments.seed.empty()) experiment.seed = ParseSeed(arguments.seed);
  return experiment;
}

int ProcessesOf(const Arguments& arguments) {
  if (arguments.processes.empty()) return 1;
  return static_cast<int>(
      ParseInteger(arguments.processes, 1, kMostProcesses, "--processes"));
}

int Show(const DecoderExperiment& experiment, int processes, bool as_json) {
  const std::vector<DecoderSetting> points = SettingsOf(experiment);
  Index cells = 0;
  for (const DecoderSetting& point : points) {
    cells += CellCount(experiment, point);
  }
  const double estimated_s = processes * EstimateDecodersS(experiment);
  if (as_json) {
    const Json shown = {{"name", experiment.name},
                        {"num_points", points.size()},
                        {"num_cells", cells},
                        {"estimated_s", estimated_s}};
    std::cout << shown.dump(2) << "\n";
    return kGood;
  }
  std::cout << fmt::format("{}: {} points, {} cells, about {}\n",
                           experiment.name, points.size(), cells,
                           DurationText(estimated_s));
  for (const DecoderSetting& point : points) {
    std::cout << fmt::format(
        "d={} s={} L={} beam={}: {} cells of {} sequences and an empty one\n",
        point.units, point.memory_share, point.length, point.beam,
        CellCount(experiment, point), experiment.num_sequences);
  }
  return kGood;
}

// "memory, K = 32".
std::string NameOf(const Json& cell) {
  std::string name = cell.at("mechanism").get<std::string>();
  for (const auto& [axis, letter] :
       {std::pair("num_contexts", "K"), std::pair("chunk_width", "w")}) {
    const Json& value = cell.at(axis);
    if (value.is_null()) continue;
    name += fmt::format(", {} = {}", letter, AxisValueText(value));
  }
  return name;
}

std::string TableText(const Json& document) {
  std::string text = fmt::format(
      "{:<18}{:>6}{:>7}{:>6}{:>6}{:>12}{:>12}  {:<28}{:>10}\n", "", "d", "s",
      "L", "beam", "ms", "attention", "time over soft", "read");
  for (const Json& cell : document.at("cells")) {
    text += fmt::format(
        "{:<18}{:>6}{:>7.3g}{:>6}{:>6}", NameOf(cell),
        cell.at("units").get<Index>(), cell.at("memory_share").get<double>(),
        cell.at("length").get<Index>(), cell.at("beam").get<Index>());
    if (cell.at("status") != "ok") {
      text += fmt::format("  {}: {}\n", cell.at("status").get<std::string>(),
                          cell.at("message").get<std::string>());
      continue;
    }
    const auto milliseconds = [&cell](const char* key) {
      const Json& value = cell.at(key);
      return value.is_null()
                 ? std::string("-")
                 : fmt::format("{:.3g}", value.get<double>() * 1e-6);
    };
    text += fmt::format("{:>12}{:>12}  ", milliseconds("median_ns"),
                        milliseconds("attention_median_ns"));
    const Json& ratio = cell.at("ratio_to_soft");
    std::string ratio_text = "-";
    if (!ratio.is_null()) {
      ratio_text = fmt::format("{:.3f}", ratio.at("value").get<double>());
      const Json& interval = ratio.at("interval");
      if (!interval.is_null()) {
        ratio_text +=
            fmt::format(" [{:.3f}, {:.3f}]", interval[0].get<double>(),
                        interval[1].get<double>());
      }
      if (!WhyNotAsTrained(cell).empty()) ratio_text += " *";
    }
    const Json& reads = cell.at("reads");
    const bool has_share =
        !reads.is_null() && !reads.at("memory_read").is_null();
    text += fmt::format(
        "{:<28}{:>10}\n", ratio_text,
        has_share ? fmt::format("{:.0f} %",
                                reads.at("memory_read").get<double>() * 100)
                  : "-");
  }
  return text +
         fmt::format(
             "(d: units; s: share of the memory that scans are to pass; time "
             "of all sources of a point, and of their attention alone; paired "
             "in rounds, 95 percent each; read: share of the memory; *: not "
             "the time of trained weights, less than {:.0f} percent is read or "
             "more than {:.0f} percent of the outputs have no entry)\n",
             100 * kLeastMemoryRead, 100 * kMostZeroContexts);
}

int ExitCodeOf(const Json& document) {
  for (const Json& cell : document.at("cells")) {
    const auto status = cell.at("status").get<std::string>();
    if (status == "ok" || status == "skipped") continue;
    std::cerr << fmt::format(
        "attnbench: a cell failed: {}, d = {}, s = {:.3g}, L = {}, beam {}: "
        "{}\n",
        NameOf(cell), cell.at("units").get<Index>(),
        cell.at("memory_share").get<double>(), cell.at("length").get<Index>(),
        cell.at("beam").get<Index>(), cell.at("message").get<std::string>());
    return kFailed;
  }
  return kGood;
}

Json MeasureHere(const DecoderExperiment& experiment,
                 const DecoderContext& context) {
  CountProgress progress("decoder", "points", /*tells_time=*/false, stderr,
                         isatty(STDERR_FILENO) == 1);
  return MeasureDecoders(
      experiment, context,
      [&](std::size_t done, std::size_t total) { progress.Tell(done, total); });
}

// As this process would, several times.
Json MeasureThere(const DecoderExperiment& experiment,
                  const Arguments& arguments, int processes,
                  DecoderContext context) {
  std::vector<std::string> words = {"decoder",
                                    arguments.experiment,
                                    "--part",
                                    "--repetitions",
                                    std::to_string(experiment.repetitions),
                                    "--seed",
                                    std::to_string(experiment.seed)};
  if (arguments.quick) words.emplace_back("--quick");
  BeginWatch(context);
  Json document = MeasureInProcesses(processes, words);
  const auto joined =
      FromJson<DecoderContext>(document.at("context"), "context");
  context.calibration = joined.calibration;
  context.load_end = joined.load_end;
  SetValidity(CircumstancesNow(), context.calibration, context);
  document["context"] = ToJson(context);
  return document;
}

int RunDecoder(const AxisTable& table, const std::string& command_line,
               const Arguments& arguments) {
  const DecoderExperiment experiment = ReadRequest(table, arguments);
  const int processes = ProcessesOf(arguments);
  if (arguments.dry_run) return Show(experiment, processes, arguments.json);
  std::optional<ResultFile> file;
  if (!arguments.output.empty()) {
    file.emplace(arguments.output, arguments.force);
  }
  DecoderContext context{MakeContext(command_line, experiment.seed)};
  if (!arguments.quick && !arguments.is_part) {
    // They tell of the machine only, and take as long as some points.
    context.limits.push_back(
        MeasureLimits("f32", /*threads=*/1, kQuickRoofline));
  }
  const Json document =
      processes == 1
          ? MeasureHere(experiment, context)
          : MeasureThere(experiment, arguments, processes, std::move(context));
  if (file) file->Write(document);
  std::cout << (arguments.json || arguments.is_part
                    ? document.dump() + "\n"
                    : TableText(document) +
                          ValidityText(FromJson<DecoderContext>(
                              document.at("context"), "context")) +
                          "\n");
  return arguments.is_part ? kGood : ExitCodeOf(document);
}

}  // namespace

void AddDecoder(CLI::App& app, const AxisTable& table,
                const std::string& command_line, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "decoder",
      "time whole encoders and decoders with random weights, each mechanism "
      "against full attention");
  const auto arguments = std::make_shared<Arguments>();
  AddOptions(*command, *arguments);
  command->callback([&table, &run, command_line, arguments] {
    run = [&table, command_line, arguments] {
      return RunDecoder(table, command_line, *arguments);
    };
  });
}

}  // namespace attnbench
