// Soft attention, the baseline of all three papers (MAD 2.1, MoChA 2.2):
//
//   alpha(i, j) = exp(e(i, j)) / sum over k of exp(e(i, k))    (MAD eq 2)
//   c(i)        = sum over j of alpha(i, j) h(j)               (MAD eq 3)
//
// memory [T, d], states [U, d], contexts [U, d]. It reads all T entries for
// each of the U outputs: that is T U energies, and nothing before the memory is
// complete. An empty memory gives zero contexts.
//
// Option policy=alignatt decodes while the memory still comes (alignatt.h).
//
// Schedule online takes one state at a time, with a pass over the memory each.
// Schedule teacher_forced knows all states, and makes the contexts, and under
// dot the energies [U, T] too, by a matrix product, in O(U T) memory.
#ifndef ATTNBENCH_MECHANISMS_SOFT_SOFT_H_
#define ATTNBENCH_MECHANISMS_SOFT_SOFT_H_

#include <memory>

#include "mechanisms/mechanism.h"

namespace attnbench::soft {

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism();

// The oracle: eqs 2 and 3 in scalar loops and a wider type.
template <class Real>
std::unique_ptr<Decoder<Real>> MakeReference(
    const Config& config, const SequenceInputs<Real>& inputs);

}  // namespace attnbench::soft

#endif  // ATTNBENCH_MECHANISMS_SOFT_SOFT_H_
