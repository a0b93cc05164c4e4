// attnbench run-sweep: crosses what is asked for (an experiment file, options,
// or both) to points, measures each, and writes one result file; and attnbench
// measure-points, which measures some of them in a process of its own.
#include <fmt/format.h>

#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/exit_code.h"
#include "harness/base/printable.h"
#include "harness/campaign/campaign.h"
#include "harness/campaign/counting.h"
#include "harness/campaign/worker.h"
#include "harness/commands/commands.h"
#include "harness/commands/sweep_options.h"
#include "harness/commands/sweep_output.h"
#include "harness/commands/sweep_plan.h"
#include "harness/inputs/case_file.h"
#include "harness/machine/environment.h"
#include "harness/machine/fingerprint.h"
#include "harness/machine/roofline.h"
#include "harness/peer/files.h"
#include "harness/peer/peer.h"
#include "harness/results/sweep_result.h"
#include "harness/sweep/shard.h"
#include "harness/sweep/sweep.h"
#include "harness/sweep/workload_name.h"
#include "harness/system/result_file.h"
#include "harness/system/source_tree.h"

namespace attnbench {
namespace {

// Adds the peer's libraries, whose times the result has, to our own.
void AddLibraries(const PeerInfo& info,
                  std::map<std::string, std::string>& libraries) {
  for (const auto& [library, version] : info.libraries) {
    if (libraries.contains(library)) {
      throw UserError("--peer", fmt::format("calls a library '{}', which is "
                                            "one of this program's own",
                                            Shortened(library)));
    }
    libraries[library] = version;
  }
}

// The files that say what to measure, and by what.
std::vector<std::string> InputsOf(const SweepArguments& arguments,
                                  const Sweep& sweep) {
  std::vector<std::string> files = PeerFiles(arguments.peer);
  if (!arguments.experiment.empty()) {
    files.push_back(ExperimentPath(arguments.experiment));
  }
  std::set<std::string> workloads;
  for (const Point& point : sweep.points) {
    workloads.insert(point.axes.at("workload").text());
  }
  for (const std::string& name : workloads) {
    for (const std::string& file : FilesOf(ParseWorkload(name))) {
      files.push_back(file);
    }
  }
  return files;
}

// The limits that a result has, if one is given and is of this machine as it is
// now.
std::vector<MachineLimits> KnownLimits(const std::string& path,
                                       const Context& context) {
  if (path.empty()) return {};
  const SweepContext theirs = ReadResult(path).result.context;
  SweepContext ours;
  static_cast<Context&>(ours) = context;
  ours.seed = theirs.seed;  // it decides inputs alone
  const std::string difference = DifferenceText(theirs, ours);
  if (difference.empty()) return theirs.limits;
  std::cerr << fmt::format(
      "attnbench: {}: has limits of another machine or program ({}); they are "
      "measured anew\n",
      Printable(path), difference);
  return {};
}

// Tells how the run has ended; gives the exit code.
int PrintEnd(const CampaignEnd& end, std::int64_t processes,
             const std::string& output) {
  if (end.nothing_to_do) {
    std::cout << fmt::format(
        "{}: nothing left to do, {} there\n", Printable(output),
        end.num_points == 1 ? "its one point is"
                            : fmt::format("all {} points are", end.num_points));
    return PrintResult(*end.result, output);
  }
  const int code = end.result ? PrintResult(*end.result, output) : kGood;
  if (!end.interrupted) return code;
  std::cerr << fmt::format(
      "attnbench: interrupted after {}{}\n", Counted(end.num_points, "point"),
      processes == 1 ? "" : fmt::format(" by all {} processes", processes));
  return kInterrupted;
}

int RunSweep(const std::string& command_line, const SweepArguments& arguments) {
  CampaignOptions options = MakeCampaignOptions(arguments);
  const std::optional<PeerInfo> peer = AskPeer(options.measurer);
  const std::string valgrind =
      arguments.counts_instructions ? PrepareCounting() : "";
  Sweep sweep = PlanSweep(MakeRequest(
      arguments, peer ? peer->variants : std::vector<PeerVariant>()));
  if (!valgrind.empty()) CheckOneThread(sweep);
  if (!arguments.against.empty()) return PrintShared(sweep, arguments.against);
  if (arguments.dry_run) {
    sweep.points = options.shard.value_or(Shard{}).Of(sweep.points);
    return ShowSweep(sweep, options.measurer, arguments.json);
  }
  if (options.output.empty()) {
    throw UserError("--output",
                    "is missing; name the result file, such as -o "
                    "r.json (or use --dry-run)");
  }
  RefuseToReplace(InputsOf(arguments, sweep), options.output);
  Context context = MakeContext(command_line, sweep.seed);
  options.measurer.limits = KnownLimits(arguments.limits, context);
  if (peer) AddLibraries(*peer, context.libraries);
  if (!valgrind.empty()) context.libraries["valgrind"] = valgrind;
  return PrintEnd(RunCampaign(sweep, context, options), sweep.processes,
                  options.output);
}

}  // namespace

void AddRunSweep(CLI::App& app, const std::string& command_line, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "run-sweep",
      "measure mechanisms over lists, ranges and defaults of every axis");
  const auto arguments = std::make_shared<SweepArguments>();
  AddSweepOptions(*command, *arguments);
  OnAsked(*command, run, [command_line, arguments] {
    return RunSweep(command_line, *arguments);
  });
}

void AddMeasurePoints(CLI::App& app, const std::string& command_line,
                      Command& run) {
  CLI::App* const command = app.add_subcommand(
      kWorkerCommand, "measure points that standard input describes");
  command->group("");
  const auto describe = std::make_shared<bool>(false);
  command->add_flag(kDescribe, *describe);
  const auto counts = std::make_shared<std::string>();
  command->add_option(kCounts, *counts);
  OnAsked(*command, run, [command_line, describe, counts] {
    // A valgrind that counts nothing shows at once.
    if (*describe && !counts->empty()) CheckThatItCounts(*counts);
    if (*describe) {
      std::cout << ToJson(
                       WorkerDescription{MakeContext(command_line, /*seed=*/1)})
                       .dump()
                << "\n";
    } else {
      ServeWorker(*counts);
    }
    return kGood;
  });
}

}  // namespace attnbench
