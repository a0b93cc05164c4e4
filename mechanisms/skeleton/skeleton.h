// The skeleton: a complete mechanism to copy. It does the simplest thing that
// deserves a decoder, the running mean of the memory:
//
//   c(i) = 1/n sum over j = 1..n of h(j),  n = min(i, T)
//
// so output i needs the first i entries and no energy, attention(i, j) is 1/n
// for j <= n, and dL/dh(j) is the sum over i >= j of 1/n dL/dc(i). All of it
// takes O(d (T + U)). Replace this paragraph by yours: the formula with paper
// and equation, shapes, cost, errors.
//
// README.md beside this file says how to make a mechanism of it, and where the
// example with energies and a scan is.
#ifndef ATTNBENCH_MECHANISMS_SKELETON_SKELETON_H_
#define ATTNBENCH_MECHANISMS_SKELETON_SKELETON_H_

#include <memory>

#include "mechanisms/mechanism.h"

namespace attnbench::skeleton {

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism();

// The oracle, in scalar loops and a wider type. The harness times nothing whose
// output has not agreed with it.
template <class Real>
std::unique_ptr<Decoder<Real>> MakeReference(
    const Config& config, const SequenceInputs<Real>& inputs);
template <class Real>
void ReferenceExpect(const Sequence<Real>& sequence,
                     const Expectation<Real>& out);
template <class Real>
void ReferenceGradient(const Sequence<Real>& sequence,
                       const Cotangent<Real>& cotangent,
                       const Gradients<Real>& gradients);

}  // namespace attnbench::skeleton

#endif  // ATTNBENCH_MECHANISMS_SKELETON_SKELETON_H_
