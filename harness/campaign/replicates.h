// One cell from what several processes measured of it.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_REPLICATES_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_REPLICATES_H_

#include <span>

#include "harness/results/cell.h"

namespace attnbench {

// `cells` are what each process in turn gave of one cell, all `ok`. Samples are
// joined, process after process; `draw_ns` is, for each draw, the median over
// the processes; figures that follow from samples are made anew. Operations,
// memory and numerics must be the same in all, or the cell is `invalid`:
// exactly, except for the sums of a cell that `is_peers`. These agree to 1e-5
// (f32) or 1e-10 (f64), relative, as the peer's libraries may add in an order
// that depends on addresses.
ResultCell JoinReplicates(std::span<const ResultCell> cells, bool is_peers);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_REPLICATES_H_
