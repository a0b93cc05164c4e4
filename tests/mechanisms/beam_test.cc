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

// The last context and step of a hypothesis that is decoded alone: `rows` says
// whose state it had at each output.
template <class Real>
std::pair<std::vector<Real>, StepTrace> Alone(const Mechanism<Real>& mechanism,
                                              const Config& config,
                                              DrawnInputs<Real>& inputs,
                                              const std::vector<Index>& rows) {
  const Sequence<Real> sequence = inputs.View();
  const auto decoder = mechanism.MakeDecoder(config, sequence.inputs);
  decoder->Append(sequence.memory);
  decoder->Close();
  std::vector<Real> context(Size(inputs.d));
  StepTrace trace;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const StepResult<Real> step =
        decoder->Step(StatesOf(inputs, static_cast<Index>(i))
                          .subspan(Size(rows[i] * inputs.d), Size(inputs.d)),
                      context);
    trace = {step.position, step.begin, step.end, step.inspected};
  }
  return {context, trace};
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
  for (Index i = 0; i < kOutputs; ++i) {
    const std::vector<Hypothesis> last = hypotheses;
    const std::vector<std::vector<Index>> last_lineages = lineages;
    for (Index r = 0; r < kRows; ++r) {
      const Index parent = i == 0 ? r : kParents[i % 3][r];
      hypotheses[Size(r)] = last[Size(parent)];
      lineages[Size(r)] = last_lineages[Size(parent)];
      lineages[Size(r)].push_back(r);
    }
    decoder->StepBeam(StatesOf(inputs, i), hypotheses, contexts);
    for (Index r = 0; r < kRows; ++r) {
      const auto [context, trace] =
          Alone(mechanism, config, inputs, lineages[Size(r)]);
      const Hypothesis& hypothesis = hypotheses[Size(r)];
      EXPECT_EQ(hypothesis.output, i + 1);
      EXPECT_EQ(hypothesis.trace.position, trace.position) << i << " " << r;
      EXPECT_EQ(hypothesis.trace.begin, trace.begin) << i << " " << r;
      EXPECT_EQ(hypothesis.trace.end, trace.end) << i << " " << r;
      EXPECT_EQ(hypothesis.trace.inspected, trace.inspected) << i << " " << r;
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
          config.chunk_width = 3;
          config.num_contexts = 5;
          if (config.options.contains("keys")) {
            config.options["keys"] = std::string(keys);
          }
          for (const Index length : {0, 1, 11, 37}) {
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
  for (Index i = 0; i < 3; ++i) {
    decoder->StepBeam(StatesOf(inputs, i), hypotheses, contexts);
  }
  EXPECT_NE(hypotheses[0].start, hypotheses[1].start);
}

// A hypothesis reads the given scores of its own output.
TEST(Beam, GivenScoresAreThoseOfTheOutput) {
  const Mechanism<double>& mechanism = *FindMechanism<double>("monotonic");
  const Config config = DefaultConfig(mechanism, 3);
  testing::GivenInputs<double> inputs({.p_choose = {{0, 1, 0}, {0, 0, 1}}});
  const Sequence<double> sequence = inputs.View();
  const auto decoder = mechanism.MakeDecoder(config, sequence.inputs);
  decoder->Append(sequence.memory);
  decoder->Close();
  std::vector<Hypothesis> hypotheses(2);
  std::vector<double> contexts(2 * Size(sequence.memory.cols));
  decoder->StepBeam({}, hypotheses, contexts);
  EXPECT_EQ(hypotheses[1].trace.position, 1);
  decoder->StepBeam({}, hypotheses, contexts);
  EXPECT_EQ(hypotheses[1].trace.position, 2);
}

}  // namespace
}  // namespace attnbench
