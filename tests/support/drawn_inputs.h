// Random inputs for tests of mechanisms, which must not depend on the harness.
#ifndef ATTNBENCH_TESTS_SUPPORT_DRAWN_INPUTS_H_
#define ATTNBENCH_TESTS_SUPPORT_DRAWN_INPUTS_H_

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "mechanisms/decode.h"
#include "mechanisms/follow.h"
#include "mechanisms/registry.h"

namespace attnbench::testing {

// Parameters by name and shape, which are drawn when first asked for.
template <class Real>
class DrawnParameters final : public ParameterSource<Real> {
 public:
  MatrixView<const Real> Matrix(std::string_view name, Index rows,
                                Index cols) const override {
    std::vector<Real>& values = arrays_[{std::string(name), rows, cols}];
    if (values.empty()) {
      std::seed_seq seed(name.begin(), name.end());
      std::mt19937 generator(seed);
      const double scale = std::sqrt(3.0 / static_cast<double>(cols));
      std::uniform_real_distribution<float> uniform(-1, 1);
      for (Index n = 0; n < rows * cols; ++n) {
        values.push_back(static_cast<Real>(static_cast<float>(
            scale * static_cast<double>(uniform(generator)))));
      }
    }
    return {values.data(), rows, cols};
  }

 private:
  mutable std::map<std::tuple<std::string, Index, Index>, std::vector<Real>>
      arrays_;
};

// One sequence with everything that any mechanism reads. The numbers are those
// of f32 in both precisions.
template <class Real>
struct DrawnInputs {
  DrawnInputs(Index memory_length, Index output_length, Index dim,
              unsigned seed)
      : T(memory_length), U(output_length), d(dim) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const auto fill = [&](std::vector<Real>& values, Index count) {
      for (Index n = 0; n < count; ++n) {
        values.push_back(static_cast<Real>(uniform(generator)));
      }
    };
    fill(memory, T * d);
    fill(chunk_keys, T * d);
    fill(states, U * d);
    fill(chunk_states, U * d);
    contexts.resize(Size(U * d));
  }

  Sequence<Real> View() {
    Sequence<Real> sequence;
    sequence.inputs.parameters = &parameters;
    sequence.inputs.further.Set("chunk_keys", {chunk_keys.data(), T, d});
    sequence.inputs.further.Set("chunk_states", {chunk_states.data(), U, d});
    sequence.memory = {memory.data(), T, d};
    sequence.states = {states.data(), U, d};
    sequence.contexts = {contexts.data(), U, d};
    return sequence;
  }

  Index T, U, d;
  DrawnParameters<Real> parameters;
  std::vector<Real> memory, chunk_keys, states, chunk_states, contexts;
};

// A config of that mechanism with the defaults of all its options.
template <class Real>
Config DefaultConfig(const Mechanism<Real>& mechanism, Index dim) {
  Config config;
  config.dim = dim;
  for (const OptionSpec& option : mechanism.Describe().options) {
    config.options[option.name] = option.default_value;
  }
  return config;
}

// A step with its weights copied, so that it outlives the decoder's next call.
template <class Real>
struct KeptStep {
  Index position, begin, end, inspected;
  std::vector<Real> weights;
};

template <class Real>
std::vector<KeptStep<Real>> DecodeKeepingSteps(
    const Mechanism<Real>& mechanism, const Config& config,
    const Sequence<Real>& sequence, std::span<const Index> follow = {}) {
  std::vector<KeptStep<Real>> steps;
  const auto on_step = [&](Index, const StepResult<Real>& step) {
    steps.push_back({step.position,
                     step.begin,
                     step.end,
                     step.inspected,
                     {step.weights.begin(), step.weights.end()}});
  };
  const auto decoder = mechanism.MakeDecoder(config, sequence.inputs);
  Follow(*decoder, follow);
  DecodeWith(*decoder, config, sequence, on_step);
  return steps;
}

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_DRAWN_INPUTS_H_
