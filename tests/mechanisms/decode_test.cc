// Guards against a batch that loses an exception in one of its threads, and
// against the ends of the range of lengths.
#include "mechanisms/decode.h"

#include <gtest/gtest.h>

#include "tests/support/given_inputs.h"

namespace attnbench {
namespace {

using testing::DecodeKeepingSteps;
using testing::DefaultConfig;
using testing::DrawnInputs;
using testing::GivenInputs;

TEST(DecodeTest, AnExceptionOfOneSequenceIsThrownAgain) {
  const Mechanism<double>& mechanism = *FindMechanism<double>("mocha");
  GivenInputs<double> good({.p_choose = {{1, 0}}, .chunk_energies = {{0, 0}}});
  GivenInputs<double> bad({.p_choose = {{1, 0}}});  // no chunk energies
  Config config = DefaultConfig(mechanism, 2);
  for (const int threads : {1, 2, 3}) {
    for (std::size_t at = 0; at < 4; ++at) {
      std::vector<Sequence<double>> batch(4, good.View());
      batch[at] = bad.View();
      EXPECT_THROW(DecodeBatch<double>(mechanism, config, batch, threads),
                   Unsupported);
    }
  }
}

TEST(DecodeTest, AnEmptyBatchIsNothing) {
  const Mechanism<float>& mechanism = *FindMechanism<float>("soft");
  for (const int threads : {1, 2}) {
    EXPECT_NO_THROW(DecodeBatch<float>(mechanism, DefaultConfig(mechanism, 2),
                                       {}, threads));
  }
}

template <class Real>
std::vector<Config> EveryScheduleAndEnd(const Mechanism<Real>& mechanism,
                                        Index dim) {
  std::vector<Config> configs;
  for (const Schedule schedule : mechanism.Describe().schedules) {
    for (const EndPolicy end :
         {EndPolicy::kAbsorb, EndPolicy::kStayLast, EndPolicy::kRestart}) {
      configs.push_back(DefaultConfig(mechanism, dim));
      configs.back().schedule = schedule;
      configs.back().end = end;
      configs.back().want_weights = true;
    }
  }
  return configs;
}

TEST(DecodeTest, AnEmptyMemoryGivesZeroContextsAndNoWeights) {
  for (const Mechanism<float>* mechanism : Mechanisms<float>()) {
    SCOPED_TRACE(mechanism->Describe().name);
    for (const Config& config : EveryScheduleAndEnd(*mechanism, 5)) {
      DrawnInputs<float> inputs(0, 3, 5, 1);
      inputs.contexts.assign(15, -7);
      const auto steps = DecodeKeepingSteps(*mechanism, config, inputs.View());
      ASSERT_EQ(steps.size(), 3u);
      for (const auto& step : steps) {
        EXPECT_EQ(step.position, -1);
        EXPECT_EQ(step.end, 0);
        EXPECT_EQ(step.inspected, 0);
        EXPECT_TRUE(step.weights.empty());
      }
      EXPECT_EQ(inputs.contexts, std::vector<float>(15, 0));
    }
  }
}

TEST(DecodeTest, NoOutputsReadNothing) {
  for (const Mechanism<double>* mechanism : Mechanisms<double>()) {
    SCOPED_TRACE(mechanism->Describe().name);
    for (const Config& config : EveryScheduleAndEnd(*mechanism, 5)) {
      DrawnInputs<double> inputs(4, 0, 5, 1);
      EXPECT_TRUE(
          DecodeKeepingSteps(*mechanism, config, inputs.View()).empty());
    }
  }
}

// If there is one entry, every mechanism that weights it at all gives it back.
TEST(DecodeTest, ASingleEntryIsTheContextBitForBit) {
  for (const char* name : {"soft", "monotonic", "mocha", "matcha"}) {
    SCOPED_TRACE(name);
    const Mechanism<double>& mechanism = *FindMechanism<double>(name);
    Config config = DefaultConfig(mechanism, 5);
    config.end = EndPolicy::kStayLast;
    DrawnInputs<double> inputs(1, 2, 5, 1);
    DecodeKeepingSteps(mechanism, config, inputs.View());
    std::vector<double> twice = inputs.memory;
    twice.insert(twice.end(), inputs.memory.begin(), inputs.memory.end());
    EXPECT_EQ(inputs.contexts, twice);
  }
}

TEST(DecodeTest, WeightsAreNotMadeUnlessWanted) {
  for (const char* name : {"soft", "mocha", "matcha", "memory"}) {
    const Mechanism<double>& mechanism = *FindMechanism<double>(name);
    Config config = DefaultConfig(mechanism, 5);
    config.end = EndPolicy::kStayLast;
    DrawnInputs<double> inputs(9, 3, 5, 1);
    const auto contexts = [&](bool want_weights) {
      config.want_weights = want_weights;
      const auto steps = DecodeKeepingSteps(mechanism, config, inputs.View());
      EXPECT_EQ(steps[1].weights.empty(), !want_weights) << name;
      return inputs.contexts;
    };
    EXPECT_EQ(contexts(false), contexts(true)) << name;
  }
}

}  // namespace
}  // namespace attnbench
