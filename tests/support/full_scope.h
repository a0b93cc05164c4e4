// Training of drawn sequences from their states, with a gradient of every input
// and parameter.
#ifndef ATTNBENCH_TESTS_SUPPORT_FULL_SCOPE_H_
#define ATTNBENCH_TESTS_SUPPORT_FULL_SCOPE_H_

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "mechanisms/train.h"
#include "tests/support/drawn_inputs.h"
#include "tests/support/training.h"

namespace attnbench::testing {

inline constexpr EnergyKind kEnergies[] = {
    EnergyKind::kDot, EnergyKind::kBilinear, EnergyKind::kAdditive,
    EnergyKind::kNormalizedAdditive, EnergyKind::kScaledBilinear};

inline bool Has(const std::vector<std::string>& names,
                const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Everything that training of a drawn sequence from its states writes.
template <class Real>
struct FullScope {
  explicit FullScope(DrawnInputs<Real>& drawn)
      : inputs(drawn),
        attention(drawn.U, drawn.T),
        d_contexts(drawn.U, drawn.d),
        d_memory(drawn.T, drawn.d),
        d_chunk_keys(drawn.T, drawn.d),
        d_states(drawn.U, drawn.d),
        d_chunk_states(drawn.U, drawn.d) {
    std::mt19937 generator(3);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (Index i = 0; i < drawn.U; ++i) {
      for (Index k = 0; k < drawn.d; ++k) {
        d_contexts.view()(i, k) = uniform(generator);
      }
    }
  }

  TrainingSequence<Real> View() {
    TrainingSequence<Real> one;
    one.sequence = inputs.View();
    one.sequence.inputs.energy_bias = bias;
    one.sequence.inputs.energy_scale = scale;
    one.expectation.attention = attention.view();
    one.cotangent.contexts = std::as_const(d_contexts).view();
    one.gradients.memory = d_memory.view();
    one.gradients.further.Set("chunk_keys", d_chunk_keys.view());
    one.gradients.states = d_states.view();
    one.gradients.further.Set("chunk_states", d_chunk_states.view());
    one.gradients.parameters = &parameters;
    return one;
  }
  // All numbers that were written, in a fixed order.
  std::vector<Real> Everything() const {
    std::vector<Real> all = inputs.contexts;
    for (const OwnTable<Real>* table :
         {&attention, &d_memory, &d_chunk_keys, &d_states, &d_chunk_states}) {
      all.insert(all.end(), table->values().begin(), table->values().end());
    }
    for (const auto& [name, values] : parameters.arrays()) {
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  // Restores the arrays from before the first run, at the same addresses:
  // products of matrices may round differently if rows lie differently.
  void Clear() {
    constexpr Real kNaN = std::numeric_limits<Real>::quiet_NaN();
    std::fill(inputs.contexts.begin(), inputs.contexts.end(), kNaN);
    for (OwnTable<Real>* table :
         {&attention, &d_memory, &d_chunk_keys, &d_states, &d_chunk_states}) {
      for (Index i = 0; i < table->rows(); ++i) {
        for (Real& value : table->view().Row(i)) value = kNaN;
      }
    }
    parameters = {};
  }

  DrawnInputs<Real>& inputs;
  Real bias = Real{0.25};
  Real scale = static_cast<Real>(0.7);
  OwnTable<Real> attention, d_contexts, d_memory, d_chunk_keys, d_states,
      d_chunk_states;
  ParameterGradients<Real> parameters;
};

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_FULL_SCOPE_H_
