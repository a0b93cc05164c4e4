// The energy functions once more, as the papers write them: scalar loops in the
// papers' order and letters, in a type wider than the one under test. They are
// slow on purpose (d^2 for every additive energy). Tests and the gate before
// timing compare with them, and workload `diagonal` takes its bias from them.
#ifndef ATTNBENCH_MECHANISMS_ENERGY_ENERGY_REFERENCE_H_
#define ATTNBENCH_MECHANISMS_ENERGY_ENERGY_REFERENCE_H_

#include <type_traits>

#include "mechanisms/energy/parameters.h"

namespace attnbench {

// The type that references compute in.
template <class Real>
using Wider =
    std::conditional_t<std::is_same_v<Real, float>, double, long double>;

// An energy, and how far rounding in Real may move it.
template <class Real>
struct BoundedEnergy {
  Wider<Real> value = 0;
  Wider<Real> rounding = 0;  // largest error of a computation in Real
};

// It has no state: every call is complete in itself. Scores that were given are
// looked up, with `rounding` 0.
template <class Real>
class ReferenceEnergy {
 public:
  ReferenceEnergy(const Config& config, const SequenceInputs<Real>& inputs,
                  EnergyRole role);
  // a(s, h) for output i and entry j; `memory` is that entry and `state` that
  // output's state (ignored where scores were given).
  BoundedEnergy<Real> operator()(Index i, Index j, std::span<const Real> state,
                                 std::span<const Real> memory) const;
  bool gives_probabilities() const { return given_.probabilities; }

 private:
  BoundedEnergy<Real> Additive(std::span<const Real> s,
                               std::span<const Real> h) const;
  BoundedEnergy<Real> Bilinear(std::span<const Real> s,
                               std::span<const Real> h) const;

  Config config_;
  EnergyRole role_;
  Wider<Real> bias_;  // r
  Wider<Real> g_;
  GivenScore<Real> given_;
  MatrixView<const Real> chunk_keys_, chunk_states_;  // of kChunk under dot
  EnergyParameters<Real> parameters_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_ENERGY_ENERGY_REFERENCE_H_
