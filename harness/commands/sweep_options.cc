#include "harness/commands/sweep_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/error.h"
#include "harness/base/json_file.h"
#include "harness/base/parse_text.h"
#include "harness/base/printable.h"
#include "harness/commands/options.h"
#include "harness/inputs/captured.h"
#include "harness/inputs/case_file.h"
#include "harness/sweep/experiment.h"
#include "harness/sweep/experiment_document.h"
#include "harness/sweep/workload_name.h"
#include "harness/system/relinks.h"
#include "harness/system/source_tree.h"

namespace attnbench {
namespace {

// Keeps the experiment's alternatives of these mechanisms, and adds the missing
// ones.
void KeepMechanisms(const std::string& list, SweepRequest& request) {
  std::vector<Alternative> kept;
  const std::vector<std::string> valid = CellMechanismNames();
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

void ReplaceOptions(const std::vector<std::string>& options,
                    SweepRequest& request) {
  for (auto& [key, values] : ParseMechanismOptions(options)) {
    for (Alternative& alternative : request.alternatives) {
      alternative.options.erase(key);
    }
    request.options[key] = std::move(values);
  }
}

// Adds the options that say what is measured.
void AddRequestOptions(CLI::App& command, SweepArguments& arguments) {
  const auto add = [&command](const std::string& names, std::string& value,
                              const char* type, const std::string& help) {
    return command.add_option(names, value, help)->type_name(type);
  };
  CLI::Option* const experiment =
      add("EXPERIMENT", arguments.experiment, "FILE",
          "experiment file, e.g. experiments/mocha_figure3.json; "
          "options replace what it says");
  add("--mechanism", arguments.mechanisms, "LIST",
      "mechanisms to measure, e.g. --mechanism soft,mocha "
      "(default: those of the experiment, or all)");
  for (const Axis& axis : AllAxes()) {
    const std::string letter =
        axis.letter.empty() ? "" : "-" + axis.letter + ",";
    add(letter + OptionName(axis), arguments.axes[axis.name], "LIST",
        axis.help + " (default " + DefaultText(axis) + ")");
  }
  AddMechanismOptions(command,
                      "values of an option of a mechanism (see list), e.g. "
                      "--option threshold=0.5,0.7; can be repeated",
                      "KEY=LIST", arguments.options);
  command
      .add_flag("--quick", arguments.quick,
                "the quick profile of the experiment, e.g. run-sweep "
                "experiments/mad_figure8.json --quick -o r.json")
      ->needs(experiment);
  AddParsed(command, "--shard", arguments.shard, "i/n",
            "only shard i of n: the points i, i+n, i+2n ... counted from 0, "
            "e.g. --shard 0/4",
            ParseShard);
  command.add_option("--profile", arguments.profile)->group("");
}

bool ParseMeasure(const std::string& text, const std::string& where) {
  const std::vector<std::string> all = {"time", "instructions"};
  if (!Contains(all, text)) {
    throw UserError(where, UnknownName("measure", text, all));
  }
  return text == "instructions";
}

// Adds the options that say how often, and by which programs.
void AddMeasuringOptions(CLI::App& command, SweepArguments& arguments) {
  AddNumber(command, "--repetitions", arguments.repetitions, 1,
            kMostRepetitions,
            "rounds, each with one sample a cell, e.g. --repetitions 20 "
            "(default 10)");
  AddNumber(command, "--trials", arguments.trials, 1, kMostTrials,
            "least number of trials of a cell over all rounds, e.g. "
            "--trials 100 (default 1)");
  AddSeed(command, "of the inputs and of the order of measuring, e.g. --seed 7",
          arguments.seed);
  CLI::Option* const peer =
      command
          .add_option("--peer", arguments.peer,
                      "another program to measure in the same rounds, its "
                      "results as more variants, e.g. --peer "
                      "'/usr/bin/python3 experiments/peers/framework.py'")
          ->type_name("COMMAND");
  CLI::Option* const measure =
      AddParsed(command, "--measure", arguments.counts_instructions, "WHAT",
                "time; or instructions, which adds how many of them a trial "
                "takes, as valgrind counts them: the same number each time, on "
                "a busy machine, too, e.g. --measure instructions (default "
                "time)",
                ParseMeasure);
  measure->excludes(peer);
  AddNumber(command, "--peer-limit", arguments.peer_limit_s, 1, kMostSeconds,
            "seconds that an answer of the peer may take, e.g. "
            "--peer-limit 600 (default 120); then its cell is a timeout, and a "
            "peer that never said what it is ends the command")
      ->needs(peer);
  AddNumber(command, "--processes", arguments.processes, 1, kMostProcesses,
            "fresh processes, one after another, that each measure "
            "everything: where code and memory happen to lie moves times "
            "by more than rounds show, e.g. --processes 10 (default 1)");
  // One build is no sample of builds.
  AddNumber(command, "--builds", arguments.builds, 2, kMostProcesses,
            "relinks of this program, its objects in other orders, that "
            "measure in turn: where code lies moves times, too, and no number "
            "of processes of one program shows that; needs its build folder, "
            "e.g. --builds 20 (--processes is N then, unless it is given)")
      ->excludes(measure);
  AddNumber(command, "--cell-limit", arguments.cell_limit_s, 1, kMostSeconds,
            "seconds that a cell may take in one process, all its steps "
            "together; then its status is timeout and the others go on, "
            "e.g. --cell-limit 60 (default 3600)");
  command.add_option("--limits", arguments.limits)->group("");
}

// Adds the options that say what becomes of the result.
void AddResultOptions(CLI::App& command, SweepArguments& arguments) {
  command.add_flag("--dry-run", arguments.dry_run,
                   "only show what would be measured, and about how long that "
                   "takes (which small points of long cells tell), e.g. -T "
                   "1:9:1 --dry-run");
  command.add_flag("--json", arguments.json,
                   "with --dry-run: as JSON, e.g. --dry-run --json");
  CLI::Option* const force =
      command.add_flag("--force", arguments.force,
                       "begin anew, whatever is there, and replace the output "
                       "file, e.g. -o r.json --force");
  command
      .add_flag("--resume", arguments.resume,
                "take what an earlier run has finished from the output file "
                "and its journal, and measure the rest, e.g. -o r.json "
                "--resume")
      ->excludes(force);
  command
      .add_option("-o,--output", arguments.output,
                  "the result (a file, never '-' or a pipe), e.g. -o r.json")
      ->type_name("FILE");
  command.add_option("--against", arguments.against)->group("");
}

}  // namespace

void AddLengthsOfFiles(std::map<std::string, std::vector<AxisValue>>& axes) {
  const auto workloads = axes.find("workload");
  if (workloads == axes.end()) return;
  const std::vector<AxisValue> values = workloads->second;
  const auto add = [&axes](const char* axis, Index length) {
    if (length > 0) axes.try_emplace(axis, std::vector<AxisValue>{length});
  };
  for (const AxisValue& value : values) {
    const WorkloadName name = ParseWorkload(value.text());
    if (name.kind == WorkloadKind::kCaptured) {
      const CapturedEnergies captured = ReadCaptured(name.path);
      add("memory_length", captured.longest_memory);
      add("output_length", captured.longest_output);
      add("batch", std::ssize(captured.sequences));
    } else if (name.kind == WorkloadKind::kFile && values.size() == 1) {
      const CaseFile file = ReadCaseFile(name.path);
      add("memory_length", file.Length('T'));
      add("output_length", file.Length('U'));
      add("dim", file.Length('d'));
      add("num_contexts", file.Length('K'));
    }
  }
}

CLI::Option* AddMechanismOptions(CLI::App& command, const std::string& help,
                                 const char* type,
                                 std::vector<std::string>& options) {
  return command.add_option("--option", options, help)
      ->type_name(type)
      ->allow_extra_args(false);
}

std::map<std::string, std::vector<OptionValue>> ParseMechanismOptions(
    const std::vector<std::string>& options) {
  std::map<std::string, std::vector<OptionValue>> given;
  for (const std::string& option : options) {
    const std::size_t equals = option.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw UserError("--option", fmt::format("'{}' is not KEY=VALUE, such as "
                                              "threshold=0.5",
                                              Shortened(option)));
    }
    const std::string key = option.substr(0, equals);
    for (std::string& value :
         SplitList(option.substr(equals + 1), "--option " + key)) {
      given[key].emplace_back(std::move(value));
    }
  }
  return given;
}

void AddSweepOptions(CLI::App& command, SweepArguments& arguments) {
  AddRequestOptions(command, arguments);
  AddMeasuringOptions(command, arguments);
  AddResultOptions(command, arguments);
}

SweepRequest MakeRequest(const SweepArguments& arguments,
                         std::vector<PeerVariant> peer_variants) {
  SweepRequest request;
  request.peer_variants = std::move(peer_variants);
  if (!arguments.experiment.empty()) {
    request = ReadExperiment(ExperimentPath(arguments.experiment),
                             arguments.quick ? "quick" : "full",
                             std::move(request.peer_variants));
  }
  if (!arguments.profile.empty()) {
    const char* const where = "--profile";
    request = WithProfile(
        std::move(request),
        FromJson<ProfileDocument>(ParseJson(arguments.profile, where), where),
        where);
  }
  if (!arguments.mechanisms.empty()) {
    KeepMechanisms(arguments.mechanisms, request);
  }
  for (const Axis& axis : AllAxes()) {
    const auto text = arguments.axes.find(axis.name);
    if (text == arguments.axes.end() || text->second.empty()) continue;
    request.axes[axis.name] =
        ParseAxisValues(axis, text->second, OptionName(axis));
    for (Alternative& alternative : request.alternatives) {
      alternative.axes.erase(axis.name);
    }
  }
  AddLengthsOfFiles(request.axes);
  for (Alternative& alternative : request.alternatives) {
    AddLengthsOfFiles(alternative.axes);
  }
  ReplaceOptions(arguments.options, request);
  request.repetitions = arguments.repetitions.value_or(request.repetitions);
  request.trials = arguments.trials.value_or(request.trials);
  request.counts_instructions = arguments.counts_instructions;
  request.seed = arguments.seed.value_or(request.seed);
  request.processes = arguments.processes.value_or(
      arguments.builds.value_or(request.processes));
  if (request.processes % arguments.builds.value_or(1) != 0) {
    throw UserError("--processes",
                    fmt::format("is {}, and not a multiple of --builds {}",
                                request.processes, *arguments.builds));
  }
  return request;
}

CampaignOptions MakeCampaignOptions(const SweepArguments& arguments) {
  CampaignOptions options;
  options.output = arguments.output;
  options.force = arguments.force;
  options.resume = arguments.resume;
  options.shard = arguments.shard;
  if (arguments.builds && !arguments.dry_run) {
    options.measurer.builds = RelinksOf(ProgramPath().parent_path().string(),
                                        *arguments.builds, "--builds");
  }
  options.measurer.peer = arguments.peer;
  options.measurer.peer_limit_s = arguments.peer_limit_s;
  options.measurer.cell_limit_s = arguments.cell_limit_s;
  return options;
}

}  // namespace attnbench
