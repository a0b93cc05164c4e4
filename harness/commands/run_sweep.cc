// attnbench run-sweep: what is asked for (an experiment file, options, or both)
// is crossed to points, each is measured, and one result file is written.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/calibration.h"
#include "harness/case_file.h"
#include "harness/commands/commands.h"
#include "harness/environment.h"
#include "harness/error.h"
#include "harness/estimate.h"
#include "harness/peer.h"
#include "harness/point_hash.h"
#include "harness/progress.h"
#include "harness/result_file.h"
#include "harness/result_schema.h"
#include "harness/roofline.h"
#include "harness/runner.h"
#include "harness/sweep.h"
#include "harness/validity.h"
#include "harness/workload.h"

namespace attnbench {
namespace {

// As typed; empty where an option was not given. Numbers stay text so that
// every wrong value is refused in the same words.
struct Arguments {
  std::string experiment;
  std::string mechanisms;
  std::map<std::string, std::string> axes;  // by name
  std::vector<std::string> options;         // key=v1,v2
  std::string repetitions;
  std::string trials;
  std::string seed;
  std::string peer;
  std::string peer_limit;
  std::string output;
  bool quick = false;
  bool dry_run = false;
  bool json = false;
  bool force = false;
};

void AddOptions(CLI::App& command, const AxisTable& table,
                Arguments& arguments) {
  command
      .add_option("EXPERIMENT", arguments.experiment,
                  "experiment file, e.g. experiments/mocha_figure3.json; "
                  "options replace what it says")
      ->type_name("FILE");
  command
      .add_option("--mechanism", arguments.mechanisms,
                  "mechanisms to measure, e.g. --mechanism soft,mocha "
                  "(default: those of the experiment, or all)")
      ->type_name("LIST");
  for (const Axis& axis : table) {
    const std::string letter =
        axis.letter.empty() ? "" : "-" + axis.letter + ",";
    command
        .add_option(letter + OptionName(axis), arguments.axes[axis.name],
                    axis.help + " (default " + DefaultText(axis) + ")")
        ->type_name("LIST");
  }
  command
      .add_option("--option", arguments.options,
                  "values of an option of a mechanism (see list), e.g. "
                  "--option threshold=0.5,0.7; can be repeated")
      ->type_name("KEY=LIST")
      ->allow_extra_args(false);
  command
      .add_option("--repetitions", arguments.repetitions,
                  "rounds, each with one sample a cell, e.g. --repetitions 20 "
                  "(default 10)")
      ->type_name("N");
  command
      .add_option("--trials", arguments.trials,
                  "least number of trials of a cell over all rounds, e.g. "
                  "--trials 100 (default 1)")
      ->type_name("N");
  command
      .add_option("--seed", arguments.seed,
                  "of the inputs and of the order of measuring, e.g. --seed 7 "
                  "(default 1)")
      ->type_name("N");
  command
      .add_option("--peer", arguments.peer,
                  "another program to measure in the same rounds, its results "
                  "as more variants, e.g. --peer '/usr/bin/python3 "
                  "experiments/peers/framework.py'")
      ->type_name("COMMAND");
  command
      .add_option("--peer-limit", arguments.peer_limit,
                  "seconds that an answer of the peer may take, e.g. "
                  "--peer-limit 600 (default 120)")
      ->type_name("N");
  command.add_flag("--quick", arguments.quick,
                   "the quick profile of the experiment, e.g. run-sweep "
                   "experiments/mad_figure8.json --quick -o r.json");
  command.add_flag("--dry-run", arguments.dry_run,
                   "only show what would be measured, and about how long that "
                   "takes, e.g. -T 1:9:1 --dry-run");
  command.add_flag("--json", arguments.json,
                   "with --dry-run: as JSON, e.g. --dry-run --json");
  command.add_flag("--force", arguments.force,
                   "replace the output file, e.g. -o r.json --force");
  command
      .add_option("-o,--output", arguments.output,
                  "the result file, e.g. -o r.json")
      ->type_name("FILE");
}

// Keeps the experiment's alternatives of these mechanisms, and adds those that
// it does not have.
void TakeMechanisms(const std::string& list, SweepRequest& request) {
  std::vector<Alternative> kept;
  const std::vector<std::string> valid = MechanismNames();
  for (const std::string& name : SplitList(list, "--mechanism")) {
    if (std::find(valid.begin(), valid.end(), name) == valid.end()) {
      throw UserError("--mechanism", UnknownName("mechanism", name, valid));
    }
    const std::size_t before = kept.size();
    for (const Alternative& alternative : request.alternatives) {
      if (alternative.mechanism == name) kept.push_back(alternative);
    }
    if (kept.size() == before) kept.push_back({name, {}, {}});
  }
  request.alternatives = std::move(kept);
}

void TakeOptions(const std::vector<std::string>& options,
                 SweepRequest& request) {
  std::map<std::string, std::vector<OptionValue>> given;
  for (const std::string& option : options) {
    const std::size_t equals = option.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw UserError("--option", fmt::format("'{}' is not KEY=VALUE, such as "
                                              "threshold=0.5",
                                              option));
    }
    const std::string key = option.substr(0, equals);
    for (std::string& value :
         SplitList(option.substr(equals + 1), "--option " + key)) {
      given[key].emplace_back(std::move(value));
    }
  }
  for (auto& [key, values] : given) {
    for (Alternative& alternative : request.alternatives) {
      alternative.options.erase(key);
    }
    request.options[key] = std::move(values);
  }
}

// A case file that is the only workload says its lengths itself, where none are
// asked for.
void TakeLengthsOfCase(SweepRequest& request) {
  const auto workload = request.axes.find("workload");
  if (workload == request.axes.end() || workload->second.size() != 1) return;
  const WorkloadName name =
      ParseWorkload(workload->second[0].get<std::string>());
  if (name.kind != WorkloadKind::kFile) return;
  const CaseFile file = ReadCaseFile(name.path);
  for (const auto& [axis, letter] :
       {std::pair("memory_length", 'T'), std::pair("output_length", 'U'),
        std::pair("dim", 'd'), std::pair("num_contexts", 'K')}) {
    const Index length = file.Length(letter);
    if (length > 0) request.axes.try_emplace(axis, std::vector<Json>{length});
  }
}

SweepRequest MakeRequest(const AxisTable& table, const Arguments& arguments) {
  SweepRequest request;
  if (!arguments.experiment.empty()) {
    request = ReadExperiment(table, arguments.experiment,
                             arguments.quick ? "quick" : "full");
  } else if (arguments.quick) {
    throw UserError("--quick",
                    "picks a profile of an experiment file; name "
                    "one, or lower --repetitions");
  }
  if (!arguments.mechanisms.empty()) {
    TakeMechanisms(arguments.mechanisms, request);
  }
  for (const Axis& axis : table) {
    const std::string& text = arguments.axes.at(axis.name);
    if (text.empty()) continue;
    request.axes[axis.name] =
        ParseAxisValues(table, axis, text, OptionName(axis));
    for (Alternative& alternative : request.alternatives) {
      alternative.axes.erase(axis.name);
    }
  }
  TakeLengthsOfCase(request);
  TakeOptions(arguments.options, request);
  if (!arguments.repetitions.empty()) {
    request.repetitions = static_cast<int>(ParseInteger(
        arguments.repetitions, 1, kMostRepetitions, "--repetitions"));
  }
  if (!arguments.trials.empty()) {
    request.trials = static_cast<int>(
        ParseInteger(arguments.trials, 1, kMostTrials, "--trials"));
  }
  if (!arguments.seed.empty()) {
    request.seed = ParseSeed(arguments.seed);
  }
  return request;
}

std::size_t NumberOfCells(const Sweep& sweep) {
  std::size_t cells = 0;
  for (const Point& point : sweep.points) cells += point.cells.size();
  return cells;
}

int ShowSweep(const AxisTable& table, const Sweep& sweep, bool as_json) {
  const TimeEstimate estimate = EstimateTime(sweep);
  Json document = {{"name", sweep.name},
                   {"num_points", sweep.points.size()},
                   {"num_cells", NumberOfCells(sweep)},
                   {"num_excluded", sweep.num_excluded},
                   {"estimated_s", estimate.total_s()},
                   {"points", Json::array()}};
  std::string text = fmt::format(
      "{}: {} points, {} cells{}, about {}\n", sweep.name, sweep.points.size(),
      NumberOfCells(sweep),
      sweep.num_excluded == 0
          ? ""
          : fmt::format(" ({} more are excluded)", sweep.num_excluded),
      DurationText(estimate.total_s()));
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const Point& point = sweep.points[i];
    document["points"].push_back({{"axes", point.axes},
                                  {"num_cells", point.cells.size()},
                                  {"estimated_s", estimate.point_s[i]}});
    text += fmt::format("{}: {} cells\n", PointText(table, point),
                        point.cells.size());
  }
  std::cout << (as_json ? document.dump(2) + "\n" : text);
  return 0;
}

// The machine's, for every precision and number of threads that a cell has.
std::vector<MachineLimits> LimitsFor(const Sweep& sweep) {
  std::set<std::pair<std::int64_t, std::string>> wanted;
  for (const Point& point : sweep.points) {
    for (const Cell& cell : point.cells) {
      if (cell.skip_reason) continue;
      wanted.emplace(cell.Int("threads"), cell.Text("precision"));
    }
  }
  std::vector<MachineLimits> limits;
  for (const auto& [threads, precision] : wanted) {
    limits.push_back(
        MeasureLimits(precision, static_cast<int>(threads), kQuickRoofline));
  }
  return limits;
}

Json MeasureAll(const AxisTable& table, const Sweep& sweep, const Json& points,
                std::span<const MachineLimits> limits, Peer* peer,
                Json& calibration) {
  RunOptions options;
  std::vector<double> calibration_ns;
  options.calibration_ns = &calibration_ns;
  options.limits = limits;
  options.peer = peer;
  options.seed = sweep.seed;
  options.repetitions = sweep.repetitions;
  options.trials = sweep.trials;
  Progress progress(table, sweep, stderr, isatty(STDERR_FILENO) == 1);
  Json cells = Json::array();
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    std::vector<Json> finished =
        RunPoint(table, sweep.points[i], i, options,
                 [&progress](double share) { progress.Tick(share); });
    progress.FinishPoint(finished);
    calibration.push_back(
        CalibrationJson(points.at(i), std::exchange(calibration_ns, {})));
    for (Json& cell : finished) {
      cell["point"] = points.at(i);
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

// That a cell kept busy.
int MostThreads(const Json& cells) {
  int most = 0;
  for (const Json& cell : cells) {
    if (cell.at("status") == "skipped") continue;
    most = std::max(most, cell.at("threads").get<int>());
  }
  return most;
}

// A line about the whole, one for each warning, and the exit code.
int Summarize(const Json& document, const std::string& path) {
  const Json& cells = document.at("cells");
  std::map<std::string, std::size_t> number;
  std::optional<std::string> first_failure;
  for (const Json& cell : cells) {
    const auto status = cell.at("status").get<std::string>();
    ++number[status];
    if (status == "ok" || status == "skipped" || first_failure) continue;
    first_failure =
        fmt::format("{}: {}", cell.at("mechanism").get<std::string>(),
                    AxisValueText(cell.at("message")));
  }
  std::vector<std::string> counts;
  for (const auto& [status, count] : number) {
    counts.push_back(fmt::format("{} {}", count, status));
  }
  std::cout << fmt::format("{}: {} cells ({}), {}\n", path, cells.size(),
                           fmt::join(counts, ", "),
                           ValidityText(document.at("context")));
  for (const Json& warning : document.at("context").at("warnings")) {
    std::cout << "  warning: " << warning.get<std::string>() << "\n";
  }
  if (!cells.empty() && number["skipped"] == cells.size()) {
    std::cerr << fmt::format(
        "attnbench: every cell was skipped; the first: {}\n",
        AxisValueText(cells[0].at("message")));
    return 1;
  }
  if (!first_failure) return 0;
  std::cerr << fmt::format("attnbench: {} of {} cells failed; the first: {}\n",
                           cells.size() - number["ok"] - number["skipped"],
                           cells.size(), *first_failure);
  return 1;
}

// What a point would refuse hours later is refused now.
void CheckWorkloads(const Sweep& sweep) {
  std::set<std::string> names;
  for (const Point& point : sweep.points) {
    names.insert(point.axes.at("workload").get<std::string>());
  }
  for (const std::string& name : names) {
    const WorkloadName workload = ParseWorkload(name);
    if (workload.kind == WorkloadKind::kFile) ReadCaseFile(workload.path);
  }
}

std::unique_ptr<Peer> StartPeer(const AxisTable& table,
                                const Arguments& arguments) {
  constexpr std::int64_t kMostSeconds = 86'400;
  const std::chrono::seconds limit(arguments.peer_limit.empty()
                                       ? 120
                                       : ParseInteger(arguments.peer_limit, 1,
                                                      kMostSeconds,
                                                      "--peer-limit"));
  if (!arguments.peer.empty()) {
    return std::make_unique<Peer>(arguments.peer, limit, table);
  }
  if (!arguments.peer_limit.empty()) {
    throw UserError("--peer-limit", "there is no peer; name one by --peer");
  }
  return nullptr;
}

// Where the peer's times come from stands beside our own libraries.
void AddLibraries(const PeerInfo& info, Json& libraries) {
  for (const auto& [library, version] : info.libraries) {
    if (libraries.contains(library)) {
      throw UserError("--peer", fmt::format("calls a library '{}', which is "
                                            "one of this program's own",
                                            library));
    }
    libraries[library] = version;
  }
}

int RunSweep(const AxisTable& own_table, const std::string& command_line,
             const Arguments& arguments) {
  const std::unique_ptr<Peer> peer = StartPeer(own_table, arguments);
  const AxisTable table =
      peer ? WithVariantsOf(peer->info(), own_table) : own_table;
  SweepRequest request = MakeRequest(table, arguments);
  if (peer) request.peer_variants = peer->info().variants;
  Sweep sweep = ExpandSweep(table, request);
  CheckWorkloads(sweep);
  SkipThreadsBeyond(Cores(), sweep);
  if (arguments.dry_run) return ShowSweep(table, sweep, arguments.json);
  if (arguments.output.empty()) {
    throw UserError("--output",
                    "is missing; name the result file, such as -o "
                    "r.json (or use --dry-run)");
  }
  const ResultFile file(arguments.output, arguments.force);
  Json document = {{"schema_version", kSchemaVersion},
                   {"kind", "sweep"},
                   {"context", MakeContext(command_line, sweep.seed)}};
  Json& context = document["context"];
  if (peer) AddLibraries(peer->info(), context["libraries"]);
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    context["points"].push_back(PointHash(table, sweep, i, BuildId()));
  }
  context["shard"] = nullptr;
  const std::vector<MachineLimits> limits = LimitsFor(sweep);
  context["limits"] = ToJson(limits);
  Json calibration = Json::array();
  document["cells"] = MeasureAll(table, sweep, context["points"], limits,
                                 peer.get(), calibration);
  context["calibration"] = std::move(calibration);
  FinishContext(MostThreads(document["cells"]), context);
  file.Write(document);
  return Summarize(document, arguments.output);
}

}  // namespace

void AddRunSweep(CLI::App& app, const AxisTable& table,
                 const std::string& command_line, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "run-sweep",
      "measure mechanisms over lists, ranges and defaults of every axis");
  const auto arguments = std::make_shared<Arguments>();
  AddOptions(*command, table, *arguments);
  command->callback([&table, &run, command_line, arguments] {
    run = [&table, command_line, arguments] {
      return RunSweep(table, command_line, *arguments);
    };
  });
}

}  // namespace attnbench
