#include "harness/gap/processes.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "mechanisms/decode.h"
#include "mechanisms/description.h"
#include "mechanisms/energy/energy.h"
#include "mechanisms/registry.h"
#include "mechanisms/sample.h"
#include "mechanisms/training/noise.h"

namespace attnbench {
namespace {

using Vector = std::vector<double>;

void Divide(Table<double>& table, double divisor) {
  for (double& value : table.values) value /= divisor;
}

Config ScanConfig(const Mechanism<double>& mechanism, const ClosedLoop& loop) {
  Config config = DefaultConfig(mechanism.Describe());
  config.dim = loop.memory().cols;
  config.end = EndPolicy::kAbsorb;
  return config;
}

}  // namespace

PathSums::PathSums(const ClosedLoop& loop)
    : marginals(loop),
      states(loop.num_outputs(), loop.state_size()),
      contexts(loop.num_outputs(), loop.memory().cols) {}

void PathSums::AddStep(const PathStep& step, double step_weight) {
  marginals.entries.view()(step.output, step.entry) += step_weight;
  AddScaled(step.probabilities, step_weight,
            marginals.outputs.view().Row(step.output));
  AddScaled(step.state, step_weight, states.view().Row(step.output));
  AddScaled(step.context, step_weight, contexts.view().Row(step.output));
}

void PathSums::Add(const PathSums& other) {
  AddScaled(other.marginals.entries.values, 1, marginals.entries.values);
  AddScaled(other.marginals.outputs.values, 1, marginals.outputs.values);
  AddScaled(other.states.values, 1, states.values);
  AddScaled(other.contexts.values, 1, contexts.values);
  weight += other.weight;
}

Marginals MeansOf(const PathSums& sums) {
  Marginals means = sums.marginals;
  Divide(means.entries, sums.weight);
  Divide(means.outputs, sums.weight);
  return means;
}

Marginals AtMeanContext(const ClosedLoop& loop, const PathSums& sums) {
  Marginals made = MeansOf(sums);
  Table<double> states = sums.states, contexts = sums.contexts;
  Divide(states, sums.weight);
  Divide(contexts, sums.weight);
  for (Index i = 0; i < loop.num_outputs(); ++i) {
    loop.Probabilities(states.view().Row(i), contexts.view().Row(i),
                       made.outputs.view().Row(i));
  }
  return made;
}

Processes::Processes(const ClosedLoop& loop)
    : loop_(loop),
      mechanism_(*FindMechanism<double>("monotonic")),
      config_(ScanConfig(mechanism_, loop)),
      sampling_(SamplingConfig(mechanism_.Describe(), config_)),
      energies_(loop.num_outputs(), loop.memory().rows) {}

void Processes::Select(std::span<const double> start,
                       std::span<const double> energies,
                       std::span<double> alpha) const {
  const auto T = static_cast<Index>(energies.size());
  Sequence<double> sequence;
  sequence.inputs.start = start;
  sequence.inputs.scores.Set(kEnergiesInput.name, {energies.data(), 1, T});
  mechanism_.Expect(config_, sequence, {.attention = {alpha.data(), 1, T}});
}

Marginals Processes::Expectation(const Noise& noise) {
  const MatrixView<const double> memory = loop_.memory();
  const Index T = memory.rows;
  Marginals made(loop_);
  Vector state(Size(loop_.state_size())), context(Size(memory.cols));
  Vector start(Size(T)), energies(Size(T));
  start[0] = 1;
  loop_.FirstState(state);
  for (Index i = 0; i < loop_.num_outputs(); ++i) {
    loop_.Advance(i, context, state);
    loop_.Energies(state, energies);
    for (Index j = 0; noise.deviation > 0 && j < T; ++j) {
      energies[Size(j)] +=
          noise.deviation * StandardNoise(noise.seed, noise.stream, i, j);
    }
    const std::span<double> row = made.entries.view().Row(i);
    const std::span<double> alpha = row.first(Size(T));
    Select(start, energies, alpha);
    std::ranges::copy(alpha, start.begin());
    row.back() =
        std::max(0.0, 1 - std::accumulate(alpha.begin(), alpha.end(), 0.0));
    std::ranges::fill(context, 0.0);
    for (Index j = 0; j < T; ++j) {
      AddScaled(memory.Row(j), alpha[Size(j)], context);
    }
    loop_.Probabilities(state, context, made.outputs.view().Row(i));
  }
  return made;
}

void Processes::Decode(const Config& config, std::uint64_t seed,
                       std::uint32_t path, const OnStep& on_step) {
  const MatrixView<const double> memory = loop_.memory();
  // Row i is read when output i is made, so it can be written just before.
  SequenceInputs<double> inputs{.seed = seed, .stream = path};
  inputs.scores.Set(kEnergiesInput.name, energies_.view());
  inputs.expected_length = memory.rows;
  const auto decoder = mechanism_.MakeDecoder(config, inputs);
  decoder->Append(memory);
  decoder->Close();
  Vector state(Size(loop_.state_size())), context(Size(memory.cols));
  Vector p(Size(loop_.vocabulary()));
  loop_.FirstState(state);
  for (Index i = 0; i < loop_.num_outputs(); ++i) {
    loop_.Advance(i, context, state);
    loop_.Energies(state, energies_.view().Row(i));
    const StepResult<double> step = decoder->Step({}, context);
    CheckIsMade(step);
    loop_.Probabilities(state, context, p);
    on_step({i, step.position < 0 ? memory.rows : step.position, state, context,
             p});
  }
}

Marginals Processes::Threshold() {
  PathSums sums(loop_);
  Decode(config_, 0, 0, [&](const PathStep& step) { sums.AddStep(step); });
  return sums.marginals;
}

}  // namespace attnbench
