// r of a mechanism that chooses, in a model with random weights. Trained ones
// read the whole memory while they make the whole output; random ones would
// stand still on an entry, or run off the end with the first outputs and cost
// nothing from then on.
#ifndef ATTNBENCH_HARNESS_DECODER_BIAS_H_
#define ATTNBENCH_HARNESS_DECODER_BIAS_H_

#include "harness/decoder_gate.h"

namespace attnbench {

// The bias at which the share of the memory that is not reached is that of the
// outputs that choose nothing any more, over greedy translations of a few
// sources of middle length, whatever `decoder` has: r is a parameter of the
// model, the same for all lengths and beams. Found by bisection on the states
// of a translation, which are then made again with that bias, since other
// contexts make other states. What is read of other sources is near to that; it
// is counted beside the times. 0 for a mechanism that is not online.
double BalancedBias(WholeDecoder decoder);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_DECODER_BIAS_H_
