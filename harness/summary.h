// A finished cell's figures that follow from its samples.
#ifndef ATTNBENCH_HARNESS_SUMMARY_H_
#define ATTNBENCH_HARNESS_SUMMARY_H_

#include "harness/axes.h"

namespace attnbench {

// Fills `median_ns`, `interval_ns`, `prepare_ns` and `spread` of a cell of a
// result from its `samples_ns`, `processes`, `prepare_samples_ns` and
// `draw_ns`; null where there are no samples.
void Summarize(Json& cell);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SUMMARY_H_
