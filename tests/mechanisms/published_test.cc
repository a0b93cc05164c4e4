// Guards against a plain program on Eigen that computes something else than the
// mechanisms it is compared with, and against running it where it does not
// compute the same.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/given_inputs.h"

namespace attnbench {
namespace {

using testing::DecodeKeepingSteps;
using testing::DefaultConfig;
using testing::DrawnInputs;
using testing::GivenInputs;

constexpr const char* kLevels[] = {"published_O0", "published_O3"};
constexpr const char* kNames[] = {"soft", "monotonic"};

template <class Real>
Config PublishedConfig(const Mechanism<Real>& mechanism, const char* variant,
                       Index dim) {
  Config config = DefaultConfig(mechanism, dim);
  config.variant = variant;
  config.end = EndPolicy::kStayLast;
  return config;
}

TEST(PublishedTest, BothLevelsAgreeWithTheReference) {
  struct Shape {
    Index T, U, d;
  };
  for (const char* name : kNames) {
    const Mechanism<double>& mechanism = *FindMechanism<double>(name);
    for (const char* level : kLevels) {
      for (const Shape& shape : {Shape{1, 1, 1}, Shape{1, 4, 3}, Shape{7, 3, 2},
                                 Shape{16, 40, 33}, Shape{64, 8, 256}}) {
        SCOPED_TRACE(std::string(name) + " " + level + " T " +
                     std::to_string(shape.T));
        DrawnInputs<double> inputs(shape.T, shape.U, shape.d, 6);
        DrawnInputs<double> again(shape.T, shape.U, shape.d, 6);
        const Sequence<double> sequence = inputs.View();
        Config config = PublishedConfig(mechanism, level, shape.d);
        const auto steps = DecodeKeepingSteps(mechanism, config, sequence);
        config.variant = "reference";
        const auto expected =
            DecodeKeepingSteps(mechanism, config, again.View());
        for (std::size_t i = 0; i < steps.size(); ++i) {
          EXPECT_EQ(steps[i].position, expected[i].position);
          EXPECT_EQ(steps[i].begin, expected[i].begin);
          EXPECT_EQ(steps[i].end, expected[i].end);
          EXPECT_EQ(steps[i].inspected, expected[i].inspected);
        }
        for (std::size_t n = 0; n < inputs.contexts.size(); ++n) {
          const double error = inputs.contexts[n] - again.contexts[n];
          if (!(std::abs(error) <= 1e-12)) FAIL() << n << " error " << error;
        }
      }
    }
  }
}

TEST(PublishedTest, AnEmptyMemoryGivesZeroContexts) {
  for (const char* name : kNames) {
    for (const char* level : kLevels) {
      const Mechanism<double>& mechanism = *FindMechanism<double>(name);
      DrawnInputs<double> inputs(0, 2, 3, 1);
      inputs.contexts.assign(6, -7);
      DecodeKeepingSteps(mechanism, PublishedConfig(mechanism, level, 3),
                         inputs.View());
      EXPECT_EQ(inputs.contexts, std::vector<double>(6, 0));
    }
  }
}

TEST(PublishedTest, SinglePrecisionIsUnsupported) {
  for (const char* name : kNames) {
    for (const char* level : kLevels) {
      const Mechanism<float>& mechanism = *FindMechanism<float>(name);
      EXPECT_THROW(
          mechanism.MakeDecoder(PublishedConfig(mechanism, level, 2), {}),
          Unsupported);
    }
  }
}

TEST(PublishedTest, OtherEnergiesBiasesAndGivenScoresAreUnsupported) {
  for (const char* name : kNames) {
    const Mechanism<double>& mechanism = *FindMechanism<double>(name);
    Config config = PublishedConfig(mechanism, kLevels[0], 2);
    EXPECT_NO_THROW(mechanism.MakeDecoder(config, {}));
    SequenceInputs<double> biased;
    biased.energy_bias = 1;
    EXPECT_THROW(mechanism.MakeDecoder(config, biased), Unsupported);
    GivenInputs<double> given({.energies = {{1, 2}}});
    EXPECT_THROW(mechanism.MakeDecoder(config, given.View().inputs),
                 Unsupported);
    config.energy = EnergyKind::kAdditive;
    EXPECT_THROW(mechanism.MakeDecoder(config, {}), Unsupported);
  }
}

TEST(PublishedTest, OtherEndsAndThresholdsAreUnsupported) {
  const Mechanism<double>& mechanism = *FindMechanism<double>("monotonic");
  const Config config = PublishedConfig(mechanism, kLevels[1], 2);
  for (const EndPolicy end : {EndPolicy::kAbsorb, EndPolicy::kRestart}) {
    Config other = config;
    other.end = end;
    EXPECT_THROW(mechanism.MakeDecoder(other, {}), Unsupported);
  }
  const std::pair<const char*, OptionValue> options[] = {
      {"threshold", 0.6}, {"strict", true}, {"sample", true}};
  for (const auto& [key, value] : options) {
    Config other = config;
    other.options[key] = value;
    EXPECT_THROW(mechanism.MakeDecoder(other, {}), Unsupported) << key;
  }
}

}  // namespace
}  // namespace attnbench
