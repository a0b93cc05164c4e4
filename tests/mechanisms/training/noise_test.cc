// Guards against noise in training that is not standard normal, not one number
// for each output and entry, or not the same for one seed in every variant.
#include "mechanisms/training/noise.h"

#include <gtest/gtest.h>

#include "tests/support/training.h"

namespace attnbench {
namespace {

using testing::DefaultConfig;
using testing::Rows;
using testing::Train;

TEST(NoiseTest, IsSeededAndOneNumberForEachOutputAndEntry) {
  Config config = DefaultConfig(*FindMechanism<double>("monotonic"), 0);
  config.options["noise"] = 2.0;
  const Rows e(3, std::vector<double>(4, 0.5));
  Rows with_noise = e;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      with_noise[i][j] +=
          2 * StandardNoise(9, 0, static_cast<Index>(i), static_cast<Index>(j));
    }
  }
  Config plain = config;
  plain.options["noise"] = 0.0;
  const auto noisy =
      Train<double>("monotonic", config, {.energies = e}, e, /*seed=*/9);
  const auto expected =
      Train<double>("monotonic", plain, {.energies = with_noise}, e);
  EXPECT_EQ(noisy.attention.values(), expected.attention.values());
  EXPECT_EQ(noisy.d_choice.values(), expected.d_choice.values());
  EXPECT_NE(with_noise[0], with_noise[1]);
  const auto other_seed =
      Train<double>("monotonic", config, {.energies = e}, {}, /*seed=*/10);
  EXPECT_NE(noisy.attention.values(), other_seed.attention.values());
  for (const char* variant : {"reference", "parallel"}) {
    config.variant = variant;
    const auto other =
        Train<double>("monotonic", config, {.energies = e}, {}, /*seed=*/9);
    for (std::size_t n = 0; n < other.attention.values().size(); ++n) {
      EXPECT_NEAR(other.attention.values()[n], noisy.attention.values()[n],
                  1e-12);
    }
  }
}

TEST(NoiseTest, IsStandardNormal) {
  double sum = 0, square = 0, fourth = 0;
  constexpr Index kCount = 100000;
  for (Index n = 0; n < kCount; ++n) {
    const double x = StandardNoise(1, 2, n / 300, n % 300);
    sum += x;
    square += x * x;
    fourth += x * x * x * x;
  }
  // The bounds are five standard errors.
  EXPECT_NEAR(sum / kCount, 0, 0.016);
  EXPECT_NEAR(square / kCount, 1, 0.023);
  EXPECT_NEAR(fourth / kCount, 3, 0.16);
}

TEST(NoiseTest, OnGivenProbabilitiesIsRefused) {
  Config config = DefaultConfig(*FindMechanism<double>("monotonic"), 0);
  config.options["noise"] = 1.0;
  EXPECT_THROW(Train<double>("monotonic", config, {.p_choose = {{0.5}}}),
               Unsupported);
}

}  // namespace
}  // namespace attnbench
