// The training expectation of every mechanism that chooses by the monotonic
// scan: alpha of each output from that of the one before (selection.h), under
// any EndPolicy, then the step of the mechanism (chunk_expectation.h). It is
// exact, with no division and no clipping, and takes O(U T) for alpha.
#ifndef ATTNBENCH_MECHANISMS_MONOTONIC_HARD_EXPECTATION_H_
#define ATTNBENCH_MECHANISMS_MONOTONIC_HARD_EXPECTATION_H_

#include <memory>

#include "mechanisms/monotonic/chunk_expectation.h"
#include "mechanisms/training/attention_function.h"

namespace attnbench {

// Where `make_chunk` is null, or makes null for `config`, attention is alpha.
// `config` outlives what is made.
template <class Real>
std::unique_ptr<AttentionFunction<Real>> MakeHardExpectation(
    const Config& config, MakeChunkExpectation<Real> make_chunk);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_MONOTONIC_HARD_EXPECTATION_H_
