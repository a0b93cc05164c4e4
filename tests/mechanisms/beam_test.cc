// Guards against hypotheses of a beam search that share what they must not: a
// fork that loses or mixes up where its parent stood, or a row of another one.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/given_inputs.h"

namespace attnbench {
namespace {

using testing::DefaultConfig;
using testing::DrawnInputs;

constexpr Index kRows = 4;
constexpr Index kOutputs = 9;
// The hypothesis that each row goes on from, at every output in turn: forks, a
// hypothesis that ends, and an order that changes.
constexpr Index kParents[3][kRows] = {{0, 0, 1, 3}, {2, 1, 0, 1}, {3, 3, 2, 0}};

// The rows of output i: states [kRows, d] from the drawn ones.
template <class Real>
std::span<const Real> StatesOf(const DrawnInputs<Real>& inputs, Index i) {
  return std::span(inputs.states)
      .subspan(Size(i * kRows * inputs.d), Size(kRows * inputs.d));
}

// The last context and result of a hypothesis that is decoded alone: `rows`
// says whose state it had at each output.
template <class Real>
std::pair<std::vector<Real>, StepResult<Real>> Alone(
    const Mechanism<Real>& mechanism, const Config& config,
    DrawnInputs<Real>& inputs, const std::vector<Index>& rows) {
  const Sequence<Real> sequence = inputs.View();
  const auto decoder = mechanism.MakeDecoder(config, sequence.inputs);
  decoder->Append(sequence.memory);
  decoder->Close();
  std::vector<Real> context(Size(inputs.d));
  StepResult<Real> step;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    step = decoder->Step(StatesOf(inputs, static_cast<Index>(i))
                             .subspan(Size(rows[i] * inputs.d), Size(inputs.d)),
                         context);
  }
  return {context, step};
}

template <class Real>
void ExpectEveryHypothesisIsAsAlone(const Mechanism<Real>& mechanism,
                                    const Config& config, Index length) {
  DrawnInputs<Real> inputs(length, kOutputs * kRows, 6, 3);
  const Sequence<Real> sequence = inputs.View();
  const auto decoder = mechanism.MakeDecoder(config, sequence.inputs);
  decoder->Append(sequence.memory);
  decoder->Close();
  std::vector<Hypothesis> hypotheses(kRows);
  std::vector<std::vector<Index>> lineages(kRows);
  std::vector<Real> contexts(Size(kRows * inputs.d));
  std::vector<StepResult<Real>> results(kRows);
  for (Index i = 0; i < kOutputs; ++i) {
    const std::vector<Hypothesis> last = hypotheses;
    const std::vector<std::vector<Index>> last_lineages = lineages;
    for (Index r = 0; r < kRows; ++r) {
      const Index parent = i == 0 ? r : kParents[i % 3][r];
      hypotheses[Size(r)] = last[Size(parent)];
      lineages[Size(r)] = last_lineages[Size(parent)];
      lineages[Size(r)].push_back(r);
    }
    decoder->StepBeam(StatesOf(inputs, i), hypotheses, contexts, results);
    for (Index r = 0; r < kRows; ++r) {
      const auto [context, alone] =
          Alone(mechanism, config, inputs, lineages[Size(r)]);
      const StepResult<Real>& result = results[Size(r)];
      EXPECT_EQ(result.position, alone.position) << i << " " << r;
      EXPECT_EQ(result.begin, alone.begin) << i << " " << r;
      EXPECT_EQ(result.end, alone.end) << i << " " << r;
      EXPECT_EQ(result.inspected, alone.inspected) << i << " " << r;
      EXPECT_TRUE(result.weights.empty());
      for (Index k = 0; k < inputs.d; ++k) {
        EXPECT_NEAR(contexts[Size(r * inputs.d + k)], context[Size(k)], 1e-12)
            << "output " << i << " row " << r;
      }
    }
  }
}

TEST(Beam, EveryHypothesisIsDecodedAsIfItWereAlone) {
  for (const Mechanism<double>* mechanism : Mechanisms<double>()) {
    SCOPED_TRACE(mechanism->Describe().name);
    for (const EnergyKind energy :
         {EnergyKind::kDot, EnergyKind::kBilinear, EnergyKind::kAdditive}) {
      for (const char* keys : {"precomputed", "on_demand"}) {
        for (const EndPolicy end :
             {EndPolicy::kAbsorb, EndPolicy::kStayLast, EndPolicy::kRestart}) {
          Config config = DefaultConfig(*mechanism, 6);
          config.energy = energy;
          config.end = end;
          config.options["chunk_width"] = 3;
          config.options["num_contexts"] = 5;
          if (config.options.contains("keys")) {
            config.options["keys"] = std::string(keys);
          }
          for (const Index length : {0, 1, 11, 37}) {
            ExpectEveryHypothesisIsAsAlone(*mechanism, config, length);
          }
          if (!config.options.contains("policy")) continue;
          config.options["policy"] = std::string("alignatt");
          for (const Index length : {0, 1, 37}) {
            ExpectEveryHypothesisIsAsAlone(*mechanism, config, length);
          }
        }
      }
    }
  }
}

// The test above would say nothing about a scan that never moves.
TEST(Beam, HypothesesOfAMechanismThatChoosesStandInDifferentPlaces) {
  const Mechanism<double>& mechanism = *FindMechanism<double>("monotonic");
  const Config config = DefaultConfig(mechanism, 6);
  DrawnInputs<double> inputs(37, kOutputs * kRows, 6, 3);
  const Sequence<double> sequence = inputs.View();
  const auto decoder = mechanism.MakeDecoder(config, sequence.inputs);
  decoder->Append(sequence.memory);
  decoder->Close();
  std::vector<Hypothesis> hypotheses(kRows);
  std::vector<double> contexts(Size(kRows * inputs.d));
  std::vector<StepResult<double>> results(kRows);
  for (Index i = 0; i < 3; ++i) {
    decoder->StepBeam(StatesOf(inputs, i), hypotheses, contexts, results);
  }
  EXPECT_NE(results[0].position, results[1].position);
}

// A hypothesis reads the given scores of its own output.
TEST(Beam, GivenScoresAreThoseOfTheOutput) {
  const testing::Rows scores = {{0, 1, 0}, {0, 0, 1}};
  const testing::GivenRows of_k = {.encoder_scores = {{9, 0}, {9, 0}, {0, 9}},
                                   .decoder_scores = {{9, 0}, {0, 9}}};
  const std::pair<const char*, testing::GivenRows> cases[] = {
      {"monotonic", {.p_choose = scores}},
      {"mocha", {.p_choose = scores, .chunk_energies = {{1, 2, 3}, {6, 5, 3}}}},
      {"soft", {.energies = {{0, 9, 0}, {0, 0, 9}}}},
      {"memory", of_k}};
  for (const auto& [name, rows] : cases) {
    SCOPED_TRACE(name);
    const Mechanism<double>& mechanism = *FindMechanism<double>(name);
    testing::GivenInputs<double> inputs(rows);
    Config config = DefaultConfig(mechanism, inputs.dim());
    config.options["num_contexts"] = 2;
    const Sequence<double> sequence = inputs.View();
    DecodeSequence(mechanism, config, sequence, [](Index, const auto&) {});
    const auto decoder = mechanism.MakeDecoder(config, sequence.inputs);
    decoder->Append(sequence.memory);
    decoder->Close();
    std::vector<Hypothesis> hypotheses(2);
    std::vector<double> contexts(2 * Size(inputs.dim()));
    std::vector<StepResult<double>> results(2);
    for (Index i = 0; i < 2; ++i) {
      decoder->StepBeam({}, hypotheses, contexts, results);
      for (Index k = 0; k < inputs.dim(); ++k) {
        EXPECT_NEAR(contexts[Size(inputs.dim() + k)], inputs.context(i, k),
                    1e-12)
            << i;
      }
    }
  }
}

}  // namespace
}  // namespace attnbench
