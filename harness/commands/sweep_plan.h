// What a run of `run-sweep` is going to measure, checked before it begins, and
// how --dry-run shows it.
#ifndef ATTNBENCH_HARNESS_COMMANDS_SWEEP_PLAN_H_
#define ATTNBENCH_HARNESS_COMMANDS_SWEEP_PLAN_H_

#include <optional>

#include "harness/campaign/measurer.h"
#include "harness/peer/peer.h"
#include "harness/sweep/axes.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

// What the peer that `options` name says of itself; none where they name none.
// Throws UserError naming --peer.
std::optional<PeerInfo> AskPeer(const MeasurerOptions& options);

// What is asked for, crossed, with cells skipped that this machine cannot
// measure. `table` has the peer's variants. Throws UserError for what can be
// known to be wrong with it: what a point would refuse hours later is refused
// now.
Sweep PlanSweep(const AxisTable& table, const SweepRequest& request);

// Prints the points, and about how long they take.
void ShowSweep(const AxisTable& table, const Sweep& sweep, bool as_json);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_COMMANDS_SWEEP_PLAN_H_
