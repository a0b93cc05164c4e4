// What follows from samples and reads of cells of kind "decoder". A pure
// function.
#ifndef ATTNBENCH_HARNESS_MEASURE_DECODER_RATIOS_H_
#define ATTNBENCH_HARNESS_MEASURE_DECODER_RATIOS_H_

#include <span>
#include <string>
#include <vector>

#include "harness/sweep/axes.h"

namespace attnbench {

// A time of random weights is that of trained ones where so much of the memory
// is read, and so few outputs have no entry.
inline constexpr double kLeastMemoryRead = 0.9;
inline constexpr double kMostZeroContexts = 0.05;

// Why the time of a cell is not that of trained weights, by its `reads`; empty:
// it is, or there is nothing to read.
std::string WhyNotAsTrained(const Json& cell);

// The median of samples and its interval (IntervalOf) into PREFIXmedian_ns and
// PREFIXinterval_ns, from PREFIXsamples_ns and `processes`; null where there
// are none.
void SummarizeSamples(const std::string& prefix, Json& cell);

// `ratio_to_soft` of the cells of one point: {"value", "interval"} of the time
// over that of full attention (the first cell of mechanism soft), paired in
// rounds and, with several processes, over these, the interval 95 percent for
// each; null where either has no time.
void AddRatiosToSoft(std::vector<Json>& cells);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MEASURE_DECODER_RATIOS_H_
