// Guards against an example that does not work: the skeleton is not registered,
// so that nothing else would run it before a newcomer copies it.
#include "mechanisms/skeleton/skeleton.h"

#include <gtest/gtest.h>

#include "tests/support/drawn_inputs.h"

namespace attnbench {
namespace {

using testing::DecodeKeepingSteps;
using testing::DefaultConfig;
using testing::DrawnInputs;

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

// d = 2 and 3 entries for 4 outputs: an addition of 2 flops an element for each
// entry, a scaling of 1 for each output.
TEST(SkeletonTest, CountsWhatItDoes) {
  const auto mechanism = skeleton::MakeMechanism<float>();
  const std::vector<StepTrace> steps(4);
  const Operations count =
      mechanism->Count(DefaultConfig(*mechanism, 2), 3, steps);
  EXPECT_EQ(count.energies, 0);
  EXPECT_EQ(count.memory_rows, 3);
  EXPECT_EQ(count.flops, 2 * 2 * 3 + 2 * 4);
  EXPECT_EQ(count.bytes, 4 * 2 * (3 + 4));
}

}  // namespace
}  // namespace attnbench
