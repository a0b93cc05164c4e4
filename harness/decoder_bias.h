// r of a mechanism that chooses, in a model with random weights. Trained ones
// read the whole memory while they make the whole output; random ones would
// stand still on an entry, or run off the end with the first outputs and cost
// nothing from then on.
#ifndef ATTNBENCH_HARNESS_DECODER_BIAS_H_
#define ATTNBENCH_HARNESS_DECODER_BIAS_H_

#include <span>
#include <vector>

#include "harness/decoder_gate.h"

namespace attnbench {

// A bias for each source, one a task, whatever `decoder` has: of those tried,
// the one with which the greedy translation of that source leaves the least of
// the memory unread and of the outputs without an entry. One bias for all will
// not do: a scan that stops and goes by chance has covered T +- sqrt(2 T)
// entries after T outputs, so some sources would be read in part and others run
// off. Tried are the steps of a bisection (down where entries are left, up
// where outputs are) and then its neighbourhood, until what is missing is
// little. What was really read is counted beside the times (`reads`). 0 for an
// empty source, and for a mechanism that is not online.
std::vector<double> SourceBiases(const WholeDecoder& decoder,
                                 std::span<const CopyTask> tasks);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_DECODER_BIAS_H_
