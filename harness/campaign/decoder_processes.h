// Whole decoders in several fresh processes, one after another: the layout of
// code and memory, which is another in each, moves times by more than rounds
// show.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_DECODER_PROCESSES_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_DECODER_PROCESSES_H_

#include <string>
#include <vector>

#include "harness/sweep/axes.h"

namespace attnbench {

// Results of kind "decoder" of the same experiment, one a process, as one: the
// samples of a cell, and those of the clock, one process after another, and the
// most of what other programs did. A cell that failed in one is that one's. At
// least one.
Json JoinProcesses(std::vector<Json> results);

// Runs this program so often with these arguments, with which it prints such a
// result, and joins them; the context is that of the first, and is not judged
// again. Throws std::runtime_error where one ends without a result.
Json MeasureInProcesses(int count, const std::vector<std::string>& arguments);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_DECODER_PROCESSES_H_
