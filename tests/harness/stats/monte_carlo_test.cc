// Guards against p-values that are too small (false alarms at a level that is
// promised), that are too large (defects that pass), or that are wrong in the
// tails; and against a stated power that is not reached.
#include "harness/stats/monte_carlo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "mechanisms/common/philox.h"

namespace attnbench {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double Uniform(std::uint32_t stream, std::uint64_t index) {
  const auto words = Philox(7, 99, stream, index);
  return Uniform53(words[0], words[1]);
}

// P(X = k), computed the long way.
double Mass(int n, int k, double p) {
  double mass = 1;
  for (int i = 0; i < k; ++i) mass *= p * (n - i) / (i + 1);
  for (int i = k; i < n; ++i) mass *= 1 - p;
  return mass;
}

TEST(MonteCarlo, TailsAreSumsOfTheBinomialDistribution) {
  for (const double p : {0.01, 0.3, 0.5, 0.9}) {
    double tail = 0;
    for (int k = 20; k >= 0; --k) {
      tail += Mass(20, k, p);
      EXPECT_NEAR(BinomialUpperTail(20, k, p), std::min(1.0, tail),
                  1e-12 * tail)
          << k << " of 20 at " << p;
    }
  }
  // Chi-square is wrong by orders of magnitude here: 5 hits at a mean of 0.02.
  EXPECT_NEAR(CountPValue(20'000, 5, 1e-6), 2 * 2.62e-11, 1e-13);
}

TEST(MonteCarlo, WhatCannotHappenFailsOutright) {
  EXPECT_EQ(CountPValue(1000, 1, 0), 0);
  EXPECT_EQ(CountPValue(1000, 0, 0), 1);
  EXPECT_LT(CountPValue(1000, 999, 1), 1e-11);
  EXPECT_EQ(CountPValue(1000, 1000, 1), 1);
  // A number that rounds to 1 is not 1, but no further from it than rounding.
  EXPECT_LT(CountPValue(1000, 998, 1 - 0x1p-53), 1e-22);
  EXPECT_EQ(CountPValue(1000, 500, kNan), 0);
  EXPECT_EQ(CountPValue(1000, 1000, 1.01), 0);
  EXPECT_EQ(CountPValue(1000, 0, -0.01), 0);
  EXPECT_EQ(CountPValue(1000, 0, -1e-15, 1e-14), 1);
  EXPECT_LT(CountPValue(1000, 1, -1e-15, 1e-14), 1e-10);
}

TEST(MonteCarlo, CountsOfTheExpectedProbabilityAreRarelyRejected) {
  for (const double p : {0.001, 0.2, 0.5, 0.97}) {
    for (const double level : {0.05, 1e-3}) {
      double rejected = 0;
      for (int k = 0; k <= 100; ++k) {
        if (CountPValue(100, k, p) <= level) rejected += Mass(100, k, p);
      }
      EXPECT_LE(rejected, level) << p;
    }
  }
}

// The probability that a count at `p` is rejected as one at `expected`.
double Power(int n, double expected, double p, double level) {
  double power = 0;
  for (int k = 0; k <= n; ++k) {
    if (CountPValue(n, k, expected) <= level) power += Mass(n, k, p);
  }
  return power;
}

TEST(MonteCarlo, TheDetectableDiscrepancyOfACountIsTheSmallestThatIsSeen) {
  constexpr int kTrials = 300;
  for (const double level : {1e-2, 1e-6}) {
    for (const double expected : {0.0, 0.01, 0.3, 0.5, 0.8, 1.0}) {
      const double d = CountDetectable(kTrials, expected, level);
      double least = 1;  // over the directions that are possible
      double less = 1;
      for (const double sign : {1.0, -1.0}) {
        const double p = expected + sign * d;
        if (p < 0 || p > 1) continue;
        least = std::min(least, Power(kTrials, expected, p, level));
        less = std::min(
            less, Power(kTrials, expected, expected + sign * d * 0.98, level));
      }
      EXPECT_GE(least, kPower - 1e-9) << expected << " at " << level;
      EXPECT_LT(less, kPower) << expected << " at " << level;
    }
  }
  EXPECT_EQ(CountDetectable(3, 0.5, 1e-6), 1) << "nothing can be seen";
}

// The n numbers x(u) of one trial of a test.
template <class Number>
SampleMean Sample(std::uint32_t stream, int n, double low, double high,
                  const Number& number) {
  SampleSums sums(1);
  for (int i = 0; i < n; ++i) {
    sums.Add(0, number(Uniform(stream, static_cast<std::uint64_t>(i))));
  }
  return SummarizeSamples(sums, 0, n, low, high);
}

TEST(MonteCarlo, MeanAndVarianceAreThoseOfTheNumbers) {
  SampleSums sums(2);
  for (const double value : {1.0, 2.0, 4.0}) sums.Add(1, value);
  // There are four trials, one of which added nothing.
  const SampleMean sample = SummarizeSamples(sums, 1, 4, 0, 5);
  EXPECT_DOUBLE_EQ(sample.mean, 1.75);
  EXPECT_DOUBLE_EQ(sample.variance, (21 - 4 * 1.75 * 1.75) / 3);
  EXPECT_TRUE(sample.in_range);
  EXPECT_FALSE(SummarizeSamples(sums, 1, 4, 0, 3).in_range);
}

TEST(MonteCarlo, AConstantIsItsOwnMeanHoweverManyThereAre) {
  constexpr double kLow = -0.7;
  constexpr double kHigh = 0.9;
  for (const int trials : {300'000, 3'000'000}) {
    for (const double value : {kLow, -0.1, 1.0 / 3, kHigh}) {
      SampleSums sums(1);
      for (int i = 0; i < trials; ++i) sums.Add(0, value);
      const SampleMean sample = SummarizeSamples(sums, 0, trials, kLow, kHigh);
      EXPECT_NEAR(sample.mean, value, 1e-15) << trials;
      EXPECT_EQ(MeanPValue(sample, value), 1) << value << ", " << trials;
    }
  }
}

TEST(MonteCarlo, SmallNumbersAreNotLostBesideLargeOnes) {
  SampleSums sums(1);
  for (const double value : {1.0, 1e100, 1.0, -1e100}) sums.Add(0, value);
  EXPECT_EQ(SummarizeSamples(sums, 0, 4, -1e100, 1e100).mean, 0.5);
}

TEST(MonteCarlo, MeansOfTheExpectationAreRarelyRejected) {
  constexpr std::uint32_t kRuns = 2000;
  const auto rejected = [](double low, double high, double expected,
                           const auto& number) {
    int count = 0;
    for (std::uint32_t run = 0; run < kRuns; ++run) {
      const SampleMean sample = Sample(run, 60, low, high, number);
      if (MeanPValue(sample, expected) <= 0.05) ++count;
    }
    return count;
  };
  EXPECT_LE(rejected(0, 1, 0.5, [](double u) { return u; }), 100);
  EXPECT_LE(rejected(0, 1, 0.02, [](double u) { return u < 0.02 ? 1. : 0.; }),
            100);
  EXPECT_LE(rejected(-3, 5, 1, [](double u) { return u < 0.5 ? -3. : 5.; }),
            100);
}

TEST(MonteCarlo, MeansOfZerosAndOnesHoldTheirLevelIntoTheTails) {
  constexpr int kTrials = 100;
  for (const double p : {0.01, 0.2, 0.5}) {
    for (const double level : {0.05, 1e-3, 1e-6}) {
      double rejected = 0;
      for (int k = 0; k <= kTrials; ++k) {
        SampleSums sums(1);
        for (int hit = 0; hit < k; ++hit) sums.Add(0, 1);
        const SampleMean sample = SummarizeSamples(sums, 0, kTrials, 0, 1);
        if (MeanPValue(sample, p) <= level) rejected += Mass(kTrials, k, p);
      }
      EXPECT_LE(rejected, level) << p;
    }
  }
}

TEST(MonteCarlo, AMeanThatIsOffIsSeenWithThePowerThatIsStated) {
  constexpr std::uint32_t kRuns = 1000;
  const auto number = [](double u) { return 2 * u * u - 1; };  // in [-1, 1]
  const double mean = 2.0 / 3 - 1;
  for (const double level : {1e-2, 1e-6}) {
    int seen = 0;
    for (std::uint32_t run = 0; run < kRuns; ++run) {
      const SampleMean sample = Sample(run, 500, -1, 1, number);
      const double off = MeanDetectable(sample, level);
      EXPECT_LT(off, 0.6);
      if (MeanPValue(sample, mean + off) <= level) ++seen;
    }
    EXPECT_GE(seen, static_cast<int>(kPower * kRuns));
  }
}

TEST(MonteCarlo, AMeanThatCannotBeFailsOutright) {
  const SampleMean zeros = Sample(1, 50, 0, 1, [](double) { return 0.0; });
  EXPECT_EQ(MeanPValue(zeros, 0), 1);
  EXPECT_EQ(MeanPValue(zeros, 1e-13), 1) << "rounding";
  EXPECT_LT(MeanPValue(zeros, 0.9), 1e-20);
  EXPECT_EQ(MeanPValue(zeros, kNan), 0);
  EXPECT_EQ(MeanPValue(zeros, 1.5), 0) << "beyond the range";
  const SampleMean some =
      Sample(1, 50, 0, 1, [](double u) { return u < 0.5 ? 1e-6 : 0.0; });
  EXPECT_EQ(MeanPValue(some, 0), 0) << "a hit where nothing is expected";
  const SampleMean outside =
      Sample(1, 50, 0, 1, [](double u) { return 2 * u; });
  EXPECT_EQ(MeanPValue(outside, 1), 0);
  EXPECT_EQ(MeanPValue(Sample(1, 50, 0, 1, [](double) { return kNan; }), 0.5),
            0);
  const SampleMean constant = Sample(1, 50, 0, 0, [](double) { return 0.0; });
  EXPECT_EQ(MeanPValue(constant, 0), 1);
  EXPECT_EQ(MeanPValue(constant, 0.1), 0);
}

TEST(MonteCarlo, ASmallVarianceMakesAMeanSharp) {
  const SampleMean sample =
      Sample(1, 10'000, 0, 1, [](double u) { return 0.5 + 1e-3 * (u - 0.5); });
  EXPECT_GT(MeanPValue(sample, 0.5), 0.1);
  EXPECT_LT(MeanPValue(sample, 0.52), 1e-20);
  EXPECT_LT(MeanDetectable(sample, 1e-9), 0.01);
}

TEST(MonteCarlo, HolmRejectsStepByStep) {
  const std::vector<double> p = {0.01, 0.04, 0.03, 0.005};
  // Here 0.005 <= 0.05 / 4 and 0.01 <= 0.05 / 3, but 0.03 > 0.05 / 2.
  EXPECT_EQ(HolmThreshold(p, 0.05), 0.01);
  EXPECT_LT(HolmThreshold(p, 0.01), 0);
  EXPECT_EQ(HolmThreshold(p, 0.2), 0.04);
  EXPECT_LT(HolmThreshold(std::vector<double>(), 0.05), 0);
  EXPECT_EQ(HolmThreshold(std::vector<double>{0.0, 1.0}, 1e-6), 0);
}

TEST(MonteCarlo, ChiSquareLeavesOutWhatIsRare) {
  ChiSquare chi_square;
  chi_square.Add(100, 40, 0.5);
  chi_square.Add(100, 3, 0.01);
  EXPECT_EQ(chi_square.terms, 1);
  EXPECT_DOUBLE_EQ(chi_square.statistic, 2);
}

}  // namespace
}  // namespace attnbench
