#include "harness/latency/expected_latency.h"

#include <cmath>

#include "harness/base/arrays.h"
#include "mechanisms/description.h"
#include "mechanisms/energy/energy.h"
#include "mechanisms/registry.h"
#include "mechanisms/sample.h"

namespace attnbench {
namespace {

// The derivative dAP/dalpha [U, T].
Table<double> ProportionCotangent(Index U, Index T) {
  Table<double> cotangent(U, T);
  for (Index i = 0; i < U; ++i) {
    for (Index j = 0; j < T; ++j) {
      cotangent.view()(i, j) =
          static_cast<double>(j + 1 - T) /
          (static_cast<double>(U) * static_cast<double>(T));
    }
  }
  return cotangent;
}

}  // namespace

bool ChoosesByScan(const Description& description) {
  return description.online && ChoosesAtRandom(description) &&
         FindScore(description, kProbabilitiesInput.name) != nullptr &&
         FindScore(description, kEnergiesInput.name) != nullptr;
}

ExpectedLatency ExpectLatency(const Config& config,
                              const Sequence<double>& sequence,
                              Index reference_length,
                              const Gradients<double>& gradients) {
  const MatrixView<const double> scores =
      FindGivenScore(sequence.inputs, EnergyRole::kAttention).table;
  const Index U = scores.rows;
  const Index T = scores.cols;
  ATTN_CHECK_LT(0, U);
  ATTN_CHECK_LT(0, T);
  Config scan = config;
  scan.variant = "exact";
  scan.end = EndPolicy::kAbsorb;
  scan.mode = Mode::kGradient;
  Sequence<double> without_contexts = sequence;
  without_contexts.contexts = {};
  Table<double> alpha(U, T);
  const Table<double> cotangent = ProportionCotangent(U, T);
  FindMechanism<double>(kScan)->Gradient(
      scan, without_contexts, {.attention = cotangent.view()},
      {.attention = alpha.view()}, {.scores = gradients.scores});
  ExpectedLatency expected;
  for (Index i = 0; i < U; ++i) {
    double delay = static_cast<double>(T);
    for (Index j = 0; j < T; ++j) {
      delay += static_cast<double>(j + 1 - T) * alpha(i, j);
    }
    expected.delays.push_back(delay);
  }
  expected.of_expected_delays =
      LatencyOf(expected.delays, T, reference_length).value();
  expected.ap = expected.of_expected_delays.ap;
  return expected;
}

std::vector<BatchError> BatchErrors(std::span<const double> values,
                                    double expected) {
  const auto count = static_cast<Index>(values.size());
  std::vector<BatchError> errors;
  for (Index paths = 1; count / paths >= kFewestBatches; paths *= 4) {
    const Index batches = count / paths;
    double squares = 0;
    for (Index batch = 0; batch < batches; ++batch) {
      double sum = 0;
      for (const double value :
           values.subspan(Size(batch * paths), Size(paths))) {
        sum += value;
      }
      const double error = sum / static_cast<double>(paths) - expected;
      squares += error * error;
    }
    errors.push_back(
        {paths, batches, std::sqrt(squares / static_cast<double>(batches))});
  }
  return errors;
}

SampledLatency SampleLatency(const Mechanism<double>& mechanism,
                             const Config& config,
                             const Sequence<double>& sequence,
                             Index reference_length, Index num_paths) {
  ATTN_CHECK_LE(2, num_paths);
  Config sampling = SamplingConfig(mechanism.Describe(), config);
  sampling.want_weights = false;
  sampling.mode = Mode::kDecode;
  sampling.schedule = Schedule::kOnline;
  sampling.variant = "exact";
  const Index T = sequence.memory.rows;
  // Welford's method: a difference of squares would lose the digits of the
  // error.
  SampledLatency sampled;
  Latency squares;
  std::vector<StepTrace> steps;
  for (Index path = 0; path < num_paths; ++path) {
    steps.clear();
    SampleSequence(
        mechanism, sampling, sequence, static_cast<std::uint32_t>(path),
        [&](Index, const StepResult<double>& step) { AddTraces(step, steps); });
    const Latency latency =
        LatencyOf(DelaysOf(steps, T), T, reference_length).value();
    sampled.ap.push_back(latency.ap);
    for (double Latency::*const value : kLatencyFigures) {
      const double off = latency.*value - sampled.mean.*value;
      sampled.mean.*value += off / static_cast<double>(path + 1);
      squares.*value += off * (latency.*value - sampled.mean.*value);
    }
  }
  const auto n = static_cast<double>(num_paths);
  for (double Latency::*const value : kLatencyFigures) {
    sampled.standard_error.*value = std::sqrt(squares.*value / (n - 1) / n);
  }
  return sampled;
}

}  // namespace attnbench
