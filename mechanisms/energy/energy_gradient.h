// The vector-Jacobian products of the energy functions (formulas in energy.h):
// from dL/d energies [U, T] to states, memory, parameters, g and r.
#ifndef ATTNBENCH_MECHANISMS_ENERGY_ENERGY_GRADIENT_H_
#define ATTNBENCH_MECHANISMS_ENERGY_ENERGY_GRADIENT_H_

#include "mechanisms/energy/energy_reference.h"

namespace attnbench {

// Adds to the gradients of states, memory (chunk_states and chunk_keys for role
// kChunk under dot) and parameters that are wanted. The parameters have the
// names of parameters.h: W, V, b, v, g, and r of the choice only (r shifts all
// energies of a chunk alike, which changes nothing). The sequence's energies
// come from states: none were given. This takes O(U T d) under dot, and
// O(d^2 (T + U)) more for the others.
template <class Real>
void AddEnergyGradient(const Config& config, const Sequence<Real>& sequence,
                       EnergyRole role,
                       const MatrixView<const Real>& d_energies,
                       const Gradients<Real>& gradients);

// Does the same in the papers' letters, in scalar loops and a wider type.
template <class Real>
void AddReferenceEnergyGradient(const Config& config,
                                const Sequence<Real>& sequence, EnergyRole role,
                                const MatrixView<const Wider<Real>>& d_energies,
                                const Gradients<Real>& gradients);

// Flops of AddEnergyGradient for T entries and U outputs, `pairs` of which have
// a derivative that is not 0: additive energies pass over the others, and for
// the rest all pairs are one product.
double EnergyGradientFlops(const Config& config, Index memory_length,
                           Index output_length, double pairs);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_ENERGY_ENERGY_GRADIENT_H_
