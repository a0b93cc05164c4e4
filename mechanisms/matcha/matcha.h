// Monotonic adaptive chunkwise attention (MoChA appendix C): the scan of hard
// monotonic attention chooses t(i); then soft attention over all entries since
// the last choice:
//
//   c(i) = sum over k = t(i-1)..t(i) of
//          exp(u(i, k)) / sum over l = t(i-1)..t(i) of exp(u(i, l)) h(k)
//                                                                    (eq 27)
//
// with t(0) = 1, and u as in MoChA. The chunks overlap in their ends, so there
// are at most T + U - 1 chunk energies: online and linear. Where
// t(i) = t(i-1) the chunk is that one entry.
//
// memory [T, d], states [U, d], contexts [U, d].
#ifndef ATTNBENCH_MECHANISMS_MATCHA_MATCHA_H_
#define ATTNBENCH_MECHANISMS_MATCHA_MATCHA_H_

#include <memory>

#include "mechanisms/mechanism.h"

namespace attnbench::matcha {

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism();

// The oracle: eq 27 in scalar loops and a wider type.
template <class Real>
std::unique_ptr<Decoder<Real>> MakeReference(
    const Config& config, const SequenceInputs<Real>& inputs);

}  // namespace attnbench::matcha

#endif  // ATTNBENCH_MECHANISMS_MATCHA_MATCHA_H_
