// Lets two programs measure the same sweep in turn, for a before and an after:
// what the machine does in the meantime is in the times of both.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_IN_TURN_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_IN_TURN_H_

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "harness/campaign/measurer.h"
#include "harness/results/sweep_result.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

// One of the two: a program, or relinks of one.
struct ProgramSide {
  std::string name;  // as the user typed it
  std::vector<std::string> builds;
};

// The results of both programs. Both measure a point, one right after the
// other; every process swaps which is first. None if the user interrupts.
// Throws UserError, before anything is measured, if a program is no attnbench,
// or one whose context has another form than ours.
std::optional<std::array<ReadSweep, 2>> MeasureInTurn(
    const Sweep& sweep, const std::array<ProgramSide, 2>& sides,
    const MeasurerOptions& options);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_IN_TURN_H_
