// r of a mechanism that chooses, in a model with random weights. Trained ones
// read the whole memory while they make the whole output; random ones would
// stand still on an entry, or run off the end with the first outputs and cost
// nothing from then on.
#ifndef ATTNBENCH_HARNESS_DECODER_BIAS_H_
#define ATTNBENCH_HARNESS_DECODER_BIAS_H_

#include <span>

#include "harness/decoder_gate.h"

namespace attnbench {

// The bias at which the share of the memory that is not reached is that of the
// outputs that choose nothing any more, over all the sources: by bisection, on
// the states of one greedy translation with bias 0 (with another bias contexts,
// and so states, are others, so what is really read is counted beside the
// times). 0 for a mechanism that is not online, or without any memory.
double BalancedBias(const WholeDecoder& decoder,
                    std::span<const CopyTask> tasks);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_DECODER_BIAS_H_
