// Counts the instructions of what a sweep has timed.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_COUNTING_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_COUNTING_H_

#include <cstddef>
#include <functional>
#include <string>

#include "harness/campaign/measurer.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

// The valgrind of this machine.
struct Callgrind {
  std::string version;  // of valgrind, "3.19.0"
  std::string simd;     // the best level that it has, or the one asked for
};

// Throws UserError if there is no valgrind, or it cannot run this program at
// the level of SIMD that was asked for.
Callgrind FindCallgrind();

// Throws UserError if a cell of the sweep has more than one thread: how often
// threads wait for each other differs from run to run.
void CheckOneThread(const Sweep& sweep);

// Adds the instructions of its cells that are `ok` to point `index`. `counter`
// has `counts_instructions`; `tick` is that of Measurer::Measure. A cell that
// cannot be counted fails. False if the user interrupts.
bool AddInstructions(Measurer& counter, std::size_t index,
                     const std::function<void(double)>& tick,
                     MeasuredPoint& measured);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_COUNTING_H_
