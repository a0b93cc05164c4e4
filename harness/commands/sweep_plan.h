// The plan of a `run-sweep`: what it is going to measure, checked before it
// begins and shown by --dry-run.
#ifndef ATTNBENCH_HARNESS_COMMANDS_SWEEP_PLAN_H_
#define ATTNBENCH_HARNESS_COMMANDS_SWEEP_PLAN_H_

#include <optional>
#include <string>

#include "harness/campaign/measurer.h"
#include "harness/peer/peer.h"
#include "harness/sweep/axes.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

// Asks the peer that `options` name what it offers; none where they name none.
// Throws UserError naming --peer.
std::optional<PeerInfo> AskPeer(const MeasurerOptions& options);

// Crosses the request's axes, and skips cells that this machine cannot measure.
// Throws UserError for every mistake that can be known now, before a point
// would refuse it hours later.
Sweep PlanSweep(const SweepRequest& request);

// Prints the points, and about how long they take, which small points tell that
// are measured with `options`. Gives the exit code.
int ShowSweep(const Sweep& sweep, const MeasurerOptions& options, bool as_json);

// Prints as JSON which cells of the sweep the result at `path` has, and no
// others. Gives the exit code.
int PrintShared(const Sweep& sweep, const std::string& path);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_COMMANDS_SWEEP_PLAN_H_
