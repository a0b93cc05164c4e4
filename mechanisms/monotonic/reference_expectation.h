// The definition of the training expectation, for monotonic, mocha and matcha:
// a sum over every pair of where an output's scan starts, k, and what it
// chooses, l, of
//
//   G(k, l) = start(k) p(l) prod over n = k..l-1 of (1 - p(n))     (MAD eq 9)
//
// times the weights that ChunkRule gives to that choice (MoChA eqs 16 and 27).
// This takes O(T^2) an output and O(T) memory. Gradients come from the expected
// value of what follows (V below), not from adjoints of these sums. Nothing is
// shared with hard_expectation.cc, which it is the oracle of.
#ifndef ATTNBENCH_MECHANISMS_MONOTONIC_REFERENCE_EXPECTATION_H_
#define ATTNBENCH_MECHANISMS_MONOTONIC_REFERENCE_EXPECTATION_H_

#include <memory>

#include "mechanisms/monotonic/hard_mechanism.h"

namespace attnbench {

// Number is Wider<Real>.
template <class Number>
std::unique_ptr<AttentionFunction<Number>> MakeReferenceExpectation(
    const Config& config, ChunkRule rule);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_MONOTONIC_REFERENCE_EXPECTATION_H_
