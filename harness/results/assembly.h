// Puts a result together from points that several runs, processes or shards
// have measured.
#ifndef ATTNBENCH_HARNESS_RESULTS_ASSEMBLY_H_
#define ATTNBENCH_HARNESS_RESULTS_ASSEMBLY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/results/sweep_result.h"

namespace attnbench {

// What is there of a point, perhaps not of all processes yet.
struct FinishedPoint {
  std::vector<ResultCell> cells;
  std::optional<Calibration> calibration;
  std::set<std::size_t> runs;  // indices in FinishedPoints::runs

  // The number of processes that have measured every cell: all of `processes`
  // where none is left to measure.
  std::int64_t Processes(std::int64_t processes) const;
};

struct FinishedPoints {
  std::map<std::string, FinishedPoint> points;  // by hash
  std::vector<MeasuringRun> runs;               // without their `points`
};

// Adds all points of a result, and its runs. Throws UserError naming `path` if
// none of the runs has a point.
void AddResult(const SweepResult& result, const std::string& path,
               FinishedPoints& finished);

// The points that `context.points` names, in that order, with the calibration
// of each and with the runs that measured them. Validity is judged anew
// (SetValidityOfRuns, with why the result is not `whole`, "" if it is). Runs
// that measured nothing are left out; without any others they stay.
SweepResult AssembledResult(SweepContext context,
                            const FinishedPoints& finished,
                            const std::string& not_whole);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_RESULTS_ASSEMBLY_H_
