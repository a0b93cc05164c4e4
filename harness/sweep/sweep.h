// From what was asked for (request.h) to the points and cells to be measured.
#ifndef ATTNBENCH_HARNESS_SWEEP_SWEEP_H_
#define ATTNBENCH_HARNESS_SWEEP_SWEEP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/sweep/cell.h"
#include "harness/sweep/request.h"

namespace attnbench {

// All cells that share their data: one setting of the axes marked of_point.
struct Point {
  AxisMap axes;
  std::vector<Cell> cells;
};

// What to measure and how long.
struct Sweep : SweepSettings {
  std::vector<Point> points;
  std::size_t num_excluded = 0;  // cells that exclusions left out of them
};

// More than anybody waits for: each cell is timed for milliseconds at least.
inline constexpr std::int64_t kMostCells = 200'000;

// Crosses the request: points in the order in which they first appear, the axes
// in the table's order, the last one fastest. Axes that a mechanism does not
// declare are null and not crossed; combinations that its Description rules
// out, scope `attention` under mode `decode`, schedule `online` under the
// others, and what a whole decoder does not have, become cells with a
// skip_reason. Equal cells appear once, excluded ones not at all. Throws
// UserError for values that no mechanism has, for options that none of those
// asked for declares, for an axis that an alternative sets and its mechanism
// does not declare, for an axis of whole decoders where no cell is one, for
// more than kMostCells cells, and where exclusions leave none.
Sweep ExpandSweep(const SweepRequest& request);

// Cells as points, each cell once.
std::vector<Point> GroupCells(std::vector<Cell> cells);

// Makes cells on more threads than the machine has cores skipped ones: their
// times would be those of threads that wait for each other's core.
void SkipThreadsBeyond(std::int64_t cores, Sweep& sweep);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SWEEP_SWEEP_H_
