// Guards against an example that does not work: the skeleton is not registered,
// so that nothing else would run it before a newcomer copies it. Its training
// must be that of its decoding: a newcomer keeps what is not understood.
#include "mechanisms/skeleton/skeleton.h"

#include <gtest/gtest.h>

#include "tests/support/drawn_inputs.h"
#include "tests/support/finite_difference.h"

namespace attnbench {
namespace {

using testing::DecodeKeepingSteps;
using testing::DefaultConfig;
using testing::DrawnInputs;
using testing::ExpectClose;
using testing::ExpectDerivatives;
using testing::Padded;

TEST(SkeletonTest, AgreesWithItsReference) {
  const auto mechanism = skeleton::MakeMechanism<float>();
  Config config = DefaultConfig(*mechanism, 9);
  config.want_weights = true;
  for (const Index T : {0, 1, 6, 20}) {
    DrawnInputs<float> inputs(T, 8, 9, 2), again(T, 8, 9, 2);
    config.variant = "exact";
    const auto steps = DecodeKeepingSteps(*mechanism, config, inputs.View());
    config.variant = "reference";
    const auto expected = DecodeKeepingSteps(*mechanism, config, again.View());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      EXPECT_EQ(steps[i].end, expected[i].end);
      EXPECT_EQ(steps[i].weights, expected[i].weights);
    }
    for (std::size_t n = 0; n < inputs.contexts.size(); ++n) {
      const float error = inputs.contexts[n] - again.contexts[n];
      if (!(std::abs(error) <= 1e-6F)) FAIL() << n << " error " << error;
    }
  }
}

TEST(SkeletonTest, IsTheRunningMeanOfTheMemory) {
  const auto mechanism = skeleton::MakeMechanism<double>();
  DrawnInputs<double> inputs(2, 3, 1, 2);
  inputs.memory = {4, 8};
  DecodeKeepingSteps(*mechanism, DefaultConfig(*mechanism, 1), inputs.View());
  EXPECT_EQ(inputs.contexts, (std::vector<double>{4, 6, 6}));
}

TEST(SkeletonTest, EmitsAsSoonAsItsEntryIsThere) {
  const auto mechanism = skeleton::MakeMechanism<double>();
  DrawnInputs<double> streamed(3, 4, 2, 3), whole(3, 4, 2, 3);
  const Config config = DefaultConfig(*mechanism, 2);
  DecodeKeepingSteps(*mechanism, config, whole.View());
  const Sequence<double> sequence = streamed.View();
  const auto decoder = mechanism->MakeDecoder(config, sequence.inputs);
  for (Index i = 0; i < 4; ++i) {
    EXPECT_TRUE(decoder->Step({}, sequence.contexts.Row(i)).need_memory);
    if (i < 3) {
      decoder->Append(sequence.memory.Rows(i, 1));
    } else {
      decoder->Close();
    }
    EXPECT_FALSE(decoder->Step({}, sequence.contexts.Row(i)).need_memory);
  }
  EXPECT_EQ(streamed.contexts, whole.contexts);
}

// There are d = 2 and 3 entries for 4 outputs: each entry takes an addition of
// 2 flops an element, each output a scaling of 1.
TEST(SkeletonTest, CountsWhatItDoes) {
  const auto mechanism = skeleton::MakeMechanism<float>();
  const std::vector<StepTrace> steps(4);
  const Operations count =
      mechanism->Count(DefaultConfig(*mechanism, 2), {3, steps});
  EXPECT_EQ(count.energies, 0);
  EXPECT_EQ(count.memory_rows, 3);
  EXPECT_EQ(count.flops, 2 * 2 * 3 + 2 * 4);
  EXPECT_EQ(count.bytes, 4 * 2 * (3 + 4));
}

// The attention and contexts of one variant, in padded rows.
template <class Real>
struct Trained {
  Trained(DrawnInputs<Real>& inputs, const std::string& variant)
      : attention(inputs.U, inputs.T, Real{7}),
        contexts(inputs.U, inputs.d, Real{7}),
        d_memory(inputs.T, inputs.d, Real{7}),
        d_states(inputs.U, inputs.d, Real{7}) {
    const auto mechanism = skeleton::MakeMechanism<Real>();
    Config config = DefaultConfig(*mechanism, inputs.d);
    config.variant = variant;
    Sequence<Real> sequence = inputs.View();
    Padded<Real> memory(sequence.memory);
    sequence.memory = memory.View();
    sequence.contexts = contexts.View();
    Cotangent<Real> cotangent;
    cotangent.contexts = {inputs.states.data(), inputs.U, inputs.d};
    Expectation<Real> out;
    out.attention = attention.View();
    Gradients<Real> gradients;
    gradients.memory = d_memory.View();
    gradients.states = d_states.View();
    mechanism->Gradient(config, sequence, cotangent, out, gradients);
  }
  Padded<Real> attention, contexts, d_memory, d_states;
};

TEST(SkeletonTest, TrainsAsItsReferenceDoesAndAsItDecodes) {
  const auto mechanism = skeleton::MakeMechanism<float>();
  Config config = DefaultConfig(*mechanism, 9);
  config.want_weights = true;
  for (const Index T : {0, 1, 6, 20}) {
    for (const Index U : {0, 8}) {
      DrawnInputs<float> inputs(T, U, 9, 2);
      Trained<float> exact(inputs, "exact"), reference(inputs, "reference");
      ExpectClose<float>(exact.attention.Rows(), reference.attention.Rows(),
                         1e-6, "attention");
      ExpectClose<float>(exact.contexts.Rows(), reference.contexts.Rows(), 1e-6,
                         "contexts");
      ExpectClose<float>(exact.d_memory.Rows(), reference.d_memory.Rows(), 1e-6,
                         "memory");
      EXPECT_EQ(exact.d_states.Rows(), reference.d_states.Rows());
      EXPECT_TRUE(exact.attention.PaddingIsUntouched());
      EXPECT_TRUE(exact.contexts.PaddingIsUntouched());
      EXPECT_TRUE(exact.d_memory.PaddingIsUntouched());

      const auto steps = DecodeKeepingSteps(*mechanism, config, inputs.View());
      EXPECT_EQ(exact.contexts.Rows(), inputs.contexts);
      for (Index i = 0; i < U; ++i) {
        std::vector<float> weights = steps[Size(i)].weights;
        weights.resize(Size(T));
        const auto row = exact.attention.View().Row(i);
        EXPECT_EQ(std::vector<float>(row.begin(), row.end()), weights);
      }
    }
  }
}

// The loss is the sum of states * contexts.
TEST(SkeletonTest, TheGradientIsTheDerivative) {
  for (const Index T : {3, 5}) {
    DrawnInputs<double> inputs(T, 4, 2, 3);
    Trained<double> trained(inputs, "exact");
    const std::vector<double> gradient = trained.d_memory.Rows();
    ExpectDerivatives({"memory", inputs.memory, gradient}, [&] {
      const std::vector<double> contexts =
          Trained<double>(inputs, "exact").contexts.Rows();
      double sum = 0;
      for (std::size_t n = 0; n < contexts.size(); ++n) {
        sum += contexts[n] * inputs.states[n];
      }
      return sum;
    });
  }
}

TEST(SkeletonTest, CountsTheGradientBesideTheExpectation) {
  const auto mechanism = skeleton::MakeMechanism<float>();
  const std::vector<StepTrace> steps(4);
  Config config = DefaultConfig(*mechanism, 2);
  const Operations decode = mechanism->Count(config, {3, steps});
  config.mode = Mode::kExpect;
  EXPECT_EQ(mechanism->Count(config, {3, steps}).flops, decode.flops);
  EXPECT_EQ(mechanism->Count(config, {3, steps}).bytes, decode.bytes);
  config.mode = Mode::kGradient;
  EXPECT_EQ(mechanism->Count(config, {3, steps}).flops,
            decode.flops + 2 * 2 * 4);
  EXPECT_EQ(mechanism->Count(config, {3, steps}).bytes, 2 * decode.bytes);
  EXPECT_EQ(mechanism->Count(config, {3, steps}).memory_rows, 2 * 3);
}

}  // namespace
}  // namespace attnbench
