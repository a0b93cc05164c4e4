// Counts the instructions of what a sweep has timed.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_COUNTING_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_COUNTING_H_

#include <cstddef>
#include <functional>
#include <string>

#include "harness/campaign/measurer.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

// The version of valgrind here, "3.19.0". All that is measured has to be what
// is counted, and valgrind has not every instruction of a processor: where this
// process could run others it becomes itself anew, with the level of SIMD and
// the kernels of OpenBLAS that it chooses under valgrind. Throws UserError if
// there is no valgrind, it counts nothing, or it cannot run this program at the
// level that was asked for.
std::string PrepareCounting();

// Throws UserError if callgrind, under which this process runs, counts nothing;
// `counts` is that of UnderCallgrind.
void CheckThatItCounts(const std::string& counts);

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
