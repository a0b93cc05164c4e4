// Guards against draws that are biased, or that depend on anything but seed,
// stream, output and entry; thresholds at their ends.
#include "mechanisms/monotonic/choice.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/given_inputs.h"
#include "tests/support/property.h"

namespace attnbench {
namespace {

using testing::DecodeKeepingSteps;
using testing::DefaultConfig;
using testing::GivenInputs;
using testing::GivenRows;

template <class Real>
Config SamplingConfig() {
  Config config = DefaultConfig(*FindMechanism<Real>("monotonic"), 1);
  config.options["sample"] = true;
  return config;
}

// The share of 20000 streams that choose this entry.
double Frequency(const GivenRows& rows, std::uint64_t seed) {
  constexpr std::uint32_t kStreams = 20000;
  const Mechanism<double>& mechanism = *FindMechanism<double>("monotonic");
  const Config config = SamplingConfig<double>();
  GivenInputs<double> inputs(rows);
  Sequence<double> sequence = inputs.View();
  sequence.inputs.seed = seed;
  int chosen = 0;
  for (std::uint32_t stream = 0; stream < kStreams; ++stream) {
    sequence.inputs.stream = stream;
    const auto steps = DecodeKeepingSteps(mechanism, config, sequence);
    if (steps[0].position == 0) ++chosen;
  }
  return static_cast<double>(chosen) / kStreams;
}

TEST(ChoiceTest, AnEntryIsChosenWithItsProbability) {
  const double six_sigma = 6 * std::sqrt(0.3 * 0.7 / 20000);
  EXPECT_NEAR(Frequency({.p_choose = {{0.3}}}, 1), 0.3, six_sigma);
  // sigmoid(ln(3/7)) = 0.3
  EXPECT_NEAR(Frequency({.energies = {{std::log(3. / 7)}}}, 2), 0.3, six_sigma);
}

TEST(ChoiceTest, ProbabilityZeroIsNeverAndOneAlwaysChosen) {
  EXPECT_EQ(Frequency({.p_choose = {{0}}}, 3), 0);
  EXPECT_EQ(Frequency({.p_choose = {{1}}}, 3), 1);
  EXPECT_EQ(Frequency({.energies = {{-1e4}}}, 3), 0);
  EXPECT_EQ(Frequency({.energies = {{1e4}}}, 3), 1);
}

TEST(ChoiceTest, DrawsDependOnSeedStreamOutputAndEntryAlone) {
  const Config config = SamplingConfig<float>();
  SequenceInputs<float> inputs;
  // The number of 1000 draws with p = 1/2 that agree with those of other keys.
  const auto agreements = [&](std::uint64_t seed, std::uint32_t stream,
                              Index output_step, Index entry_step) {
    SequenceInputs<float> others = inputs;
    others.seed = seed;
    others.stream = stream;
    const Choice<float> choice(config, inputs, true);
    const Choice<float> other(config, others, true);
    int count = 0;
    for (Index n = 0; n < 1000; ++n) {
      const Index i = n / 40, j = n % 40;
      if (choice(0.5F, i, j) == other(0.5F, i + output_step, j + entry_step)) {
        ++count;
      }
    }
    return count;
  };
  EXPECT_EQ(agreements(0, 0, 0, 0), 1000);
  const double six_sigma = 6 * std::sqrt(1000 * 0.25);
  EXPECT_NEAR(agreements(1, 0, 0, 0), 500, six_sigma);
  EXPECT_NEAR(agreements(std::uint64_t{1} << 32, 0, 0, 0), 500, six_sigma);
  EXPECT_NEAR(agreements(0, 1, 0, 0), 500, six_sigma);
  EXPECT_NEAR(agreements(0, 0, 1, 0), 500, six_sigma);
  EXPECT_NEAR(agreements(0, 0, 0, 1), 500, six_sigma);
}

TEST(ChoiceTest, BothPrecisionsMakeTheSameDraws) {
  const Choice<float> single(SamplingConfig<float>(), {}, true);
  const Choice<double> wide(SamplingConfig<double>(), {}, true);
  for (Index j = 0; j < 1000; ++j) {
    ASSERT_EQ(single(0.25F, 0, j), wide(0.25, 0, j));
  }
}

TEST(ChoiceTest, ThresholdsAtTheirEndsChooseEverythingOrOnlyCertainty) {
  Config config = DefaultConfig(*FindMechanism<double>("monotonic"), 1);
  config.options["threshold"] = 0.0;
  EXPECT_TRUE(Choice<double>(config, {}, true)(0.0, 0, 0));
  EXPECT_TRUE(Choice<double>(config, {}, false)(-1e300, 0, 0));
  config.options["threshold"] = 1.0;
  EXPECT_TRUE(Choice<double>(config, {}, true)(1.0, 0, 0));
  EXPECT_FALSE(Choice<double>(config, {}, true)(0.999, 0, 0));
  EXPECT_FALSE(Choice<double>(config, {}, false)(1e300, 0, 0));
  config.options["strict"] = true;
  EXPECT_FALSE(Choice<double>(config, {}, true)(1.0, 0, 0));
}

}  // namespace
}  // namespace attnbench
