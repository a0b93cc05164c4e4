// Makes one result of several that measured different points of one sweep
// (shards, or an interrupted run and its continuation), as a pure function of
// the documents. The same program, sweep and seed must have made them; that
// machines differ is recorded, not refused: cells are compared within a point,
// and a point is whole in one file.
#ifndef ATTNBENCH_HARNESS_RESULTS_MERGE_H_
#define ATTNBENCH_HARNESS_RESULTS_MERGE_H_

#include <string>
#include <vector>

#include "harness/results/sweep_result.h"

namespace attnbench {

struct Merged {
  SweepResult result;
  // Tells the points that no file has; empty if the result is whole.
  std::string missing;
};

// The cells in the order of `context.points`. The context is that of the first
// file with `command` as given, no shard, and of all files the runs, each with
// its path and a warning for every field of the fingerprint in which it differs
// from the first, the calibration of the points, and the first entry of
// `limits` for each precision and number of threads. Validity is judged anew
// (validity.h), by the drift over all points and by what each run says; an
// interrupted run counts only if points are missing. Throws UserError if the
// files are of different sweeps, naming the field, or have a point in common,
// naming both files. There is at least one file.
Merged MergeResults(const std::vector<ReadSweep>& files,
                    const std::string& command);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_RESULTS_MERGE_H_
