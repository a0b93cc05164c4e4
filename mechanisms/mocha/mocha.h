// Monotonic chunkwise attention (MoChA 2.3, algorithm 1): the scan of hard
// monotonic attention chooses t(i); then soft attention over the w entries that
// end there, v = t(i) - w + 1 (cut at the first entry):
//
//   u(i, k) = ChunkEnergy(s(i-1), h(k)),  k = v..t(i)                (eq 15)
//   c(i) = sum over k of exp(u(i, k)) / sum over l of exp(u(i, l)) h(k)
//                                                                    (eq 16)
//
// memory [T, d], states [U, d], contexts [U, d]. It takes U w chunk energies
// beside the scan's; w = 1 is hard monotonic attention and computes none;
// w = inf attends to everything up to t(i). ChunkEnergy has parameters of its
// own, under `dot` keys and states of its own.
#ifndef ATTNBENCH_MECHANISMS_MOCHA_MOCHA_H_
#define ATTNBENCH_MECHANISMS_MOCHA_MOCHA_H_

#include <memory>

#include "mechanisms/mechanism.h"

namespace attnbench::mocha {

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism();

// The oracle: algorithm 1 in scalar loops and a wider type.
template <class Real>
std::unique_ptr<Decoder<Real>> MakeReference(
    const Config& config, const SequenceInputs<Real>& inputs);

}  // namespace attnbench::mocha

#endif  // ATTNBENCH_MECHANISMS_MOCHA_MOCHA_H_
