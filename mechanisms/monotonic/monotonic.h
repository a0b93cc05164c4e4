// Hard monotonic attention (MAD 2.2, algorithm 1): output i inspects entries
// j = t(i-1), t(i-1) + 1, ... in turn,
//
//   e(i, j) = a(s(i-1), h(j)),  p(i, j) = sigmoid(e(i, j)),
//   z(i, j) = 1 where p(i, j) >= threshold, or ~ Bernoulli(p(i, j))  (eqs 6-8)
//
// and stops at the first with z = 1: t(i) = j, c(i) = h(j). Where none is
// chosen, c(i) = 0 and EndPolicy says how output i + 1 begins.
//
// memory [T, d], states [U, d], contexts [U, d]. It takes at most T + U - 1
// energies under `absorb` and `stay_last`, and needs entry j only to decide on
// entry j.
#ifndef ATTNBENCH_MECHANISMS_MONOTONIC_MONOTONIC_H_
#define ATTNBENCH_MECHANISMS_MONOTONIC_MONOTONIC_H_

#include <memory>

#include "mechanisms/mechanism.h"

namespace attnbench::monotonic {

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism();

// The oracle: algorithm 1 in scalar loops and a wider type.
template <class Real>
std::unique_ptr<Decoder<Real>> MakeReference(
    const Config& config, const SequenceInputs<Real>& inputs);

}  // namespace attnbench::monotonic

#endif  // ATTNBENCH_MECHANISMS_MONOTONIC_MONOTONIC_H_
