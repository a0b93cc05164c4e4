// attnbench run-sweep: what is asked for (an experiment file, options, or both)
// is crossed to points, each is measured, and one result file is written.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "harness/campaign.h"
#include "harness/commands/commands.h"
#include "harness/commands/sweep_options.h"
#include "harness/commands/sweep_output.h"
#include "harness/commands/sweep_plan.h"
#include "harness/environment.h"
#include "harness/error.h"
#include "harness/exit_code.h"
#include "harness/peer.h"
#include "harness/shard.h"
#include "harness/sweep.h"

namespace attnbench {
namespace {

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

// Tells how the run has ended; gives the exit code.
int TellEnd(const CampaignEnd& end, const std::string& output) {
  if (end.nothing_to_do) {
    std::cout << fmt::format(
        "{}: nothing left to do, all {} points are there\n", output,
        end.num_points);
    return Summarize(end.document, output);
  }
  const int code = end.document.is_null() ? 0 : Summarize(end.document, output);
  if (!end.interrupted) return code;
  std::cerr << fmt::format("attnbench: interrupted after {} points\n",
                           end.num_points);
  return kInterrupted;
}

int RunSweep(const AxisTable& own_table, const std::string& command_line,
             const SweepArguments& arguments) {
  const CampaignOptions options = MakeCampaignOptions(arguments);
  const std::optional<PeerInfo> peer = AskPeer(own_table, options.measurer);
  const AxisTable table = peer ? WithVariantsOf(*peer, own_table) : own_table;
  SweepRequest request = MakeRequest(table, arguments);
  if (peer) request.peer_variants = peer->variants;
  Sweep sweep = PlanSweep(table, request);
  if (arguments.dry_run) {
    sweep.points = options.shard.value_or(Shard{}).Of(sweep.points);
    ShowSweep(table, sweep, arguments.json);
    return 0;
  }
  if (options.output.empty()) {
    throw UserError("--output",
                    "is missing; name the result file, such as -o "
                    "r.json (or use --dry-run)");
  }
  Json context = MakeContext(command_line, sweep.seed);
  if (peer) AddLibraries(*peer, context["libraries"]);
  return TellEnd(RunCampaign(table, sweep, context, options), options.output);
}

}  // namespace

void AddRunSweep(CLI::App& app, const AxisTable& table,
                 const std::string& command_line, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "run-sweep",
      "measure mechanisms over lists, ranges and defaults of every axis");
  const auto arguments = std::make_shared<SweepArguments>();
  AddSweepOptions(*command, table, *arguments);
  command->callback([&table, &run, command_line, arguments] {
    run = [&table, command_line, arguments] {
      return RunSweep(table, command_line, *arguments);
    };
  });
}

}  // namespace attnbench
