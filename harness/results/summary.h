// Computes the figures of a finished cell that follow from its samples.
#ifndef ATTNBENCH_HARNESS_RESULTS_SUMMARY_H_
#define ATTNBENCH_HARNESS_RESULTS_SUMMARY_H_

#include "harness/results/cell.h"
#include "harness/stats/statistics.h"

namespace attnbench {

// Fills `median_ns`, `interval_ns`, `prepare_ns` and `spread` of a cell of a
// result from its `samples_ns`, `processes`, `builds`, `prepare_samples_ns` and
// `draw_ns`; null where there are no samples. Nothing is ever dropped from the
// samples: what disturbed them is counted.
//
// median_ns        exp of the centre of the samples' logarithms
// interval_ns      exp of its interval of 95 percent (EstimateOf, with the
//                  committed effects of a time); a round alone has none
// spread.rounds    interquartile range over the median of a process's samples,
//                  the median over processes: the clock and the machine
// spread.processes range of the processes' medians over their median; null for
//                  one process
// spread.builds    standard deviation of the logarithms of BuildMeans; null for
//                  one build
// spread.draws     interquartile range over the median of draw_ns: the inputs
// spread.outliers  OutliersOf
// spread.drift, spread.drift_p  RoundDriftOf; null below kLeastDriftRounds
void Summarize(ResultCell& cell);

// The samples of a cell, by process.
ProcessSamples SamplesOf(const ResultCell& cell);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_RESULTS_SUMMARY_H_
