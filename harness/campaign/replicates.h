// One cell, or point, from what several processes measured of it.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_REPLICATES_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_REPLICATES_H_

#include <cstdint>

#include "harness/results/assembly.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

// All processes that are to measure a cell, and of how many builds they are.
struct ProcessPlan {
  std::int64_t processes = 1;
  std::int64_t builds = 1;
};

// Adds what the next process gave to `joined`, which earlier ones gave and is
// `ok`. Samples are appended, and figures that follow from them are made anew;
// `draw_ns` is the first process's. If the next process failed, the cell has
// failed, and its message says in which process. Operations, memory and
// numerics must be the same in all, or the cell is `invalid`: exactly, except
// for the sums of a cell that `is_peers`. These agree as IsSameSum has it, as
// the peer's libraries may add in an order that depends on addresses. While
// some are still to come, `builds` is of those that have as many processes as
// the others.
void AddProcess(const ResultCell& next, const ProcessPlan& plan, bool is_peers,
                ResultCell& joined);

// The same of a point, whose cells are those planned. `next` has only the cells
// that were `ok` before. If there was nothing before, `joined` is `next`.
void AddProcess(const FinishedPoint& next, const Point& planned,
                const ProcessPlan& plan, FinishedPoint& joined);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_REPLICATES_H_
