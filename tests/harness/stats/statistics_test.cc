// Guards against intervals that are off by one rank: they look plausible and
// cover too little or too much.
#include "harness/stats/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "mechanisms/common/philox.h"

namespace attnbench {
namespace {

std::vector<double> OneTo(std::size_t count) {
  std::vector<double> samples(count);
  std::iota(samples.rbegin(), samples.rend(), 1.0);  // in falling order
  return samples;
}

TEST(Median, IsTheMiddleSampleOrTheMeanOfTwo) {
  EXPECT_EQ(Median(std::vector<double>{7}), 7);
  EXPECT_EQ(Median(std::vector<double>{5, 1, 9}), 5);
  EXPECT_EQ(Median(std::vector<double>{4, 1, 9, 2}), 3);
}

TEST(MedianInterval, IsTheWholeRangeWhereNothingLessCovers) {
  for (std::size_t count = 1; count <= 8; ++count) {
    const Interval interval = MedianInterval(OneTo(count));
    EXPECT_EQ(interval.low, 1) << count;
    EXPECT_EQ(interval.high, static_cast<double>(count)) << count;
  }
}

// These ranks are from tables of the sign test at 95 percent.
TEST(MedianInterval, HasTheRanksOfTheBinomialDistribution) {
  const struct {
    std::size_t count;
    double low;
  } table[] = {{9, 2}, {10, 2}, {12, 3}, {20, 6}, {25, 8}, {50, 18}, {100, 40}};
  for (const auto& [count, low] : table) {
    const Interval interval = MedianInterval(OneTo(count));
    EXPECT_EQ(interval.low, low) << count;
    EXPECT_EQ(interval.high, static_cast<double>(count) + 1 - low) << count;
  }
}

TEST(MedianInterval, ServesManySamples) {
  const Interval interval = MedianInterval(OneTo(100000));
  EXPECT_NEAR(interval.low, 49690, 2);
}

TEST(Quantile, IsLinearBetweenNeighbours) {
  const std::vector<double> samples = {40, 10, 20, 30};
  EXPECT_EQ(Quantile(samples, 0), 10);
  EXPECT_EQ(Quantile(samples, 0.25), 17.5);
  EXPECT_EQ(Quantile(samples, 1), 40);
  EXPECT_EQ(Quantile(std::vector<double>{7}, 0.75), 7);
}

// These quantiles are from tables: 4.303 with 2 degrees, 2.776 with 4.
TEST(CenterInterval, IsStudentsWhereOrderStatisticsCannotReachTheLevel) {
  const Interval three = CenterInterval(std::vector<double>{1, 2, 3}, 0.05);
  EXPECT_NEAR(three.low, 2 - 4.3027 / std::sqrt(3), 1e-4);
  EXPECT_NEAR(three.high, 2 + 4.3027 / std::sqrt(3), 1e-4);
  const Interval five = CenterInterval(OneTo(5), 0.05);
  EXPECT_NEAR(five.high - five.low, 2 * 2.7764 * std::sqrt(2.5 / 5), 1e-3);
}

TEST(CenterInterval, IsOfOrderStatisticsFromThereOn) {
  // 2^(1-6) <= 0.05 < 2^(1-5).
  const Interval six = CenterInterval(OneTo(6), 0.05);
  EXPECT_EQ(six.low, 1);
  EXPECT_EQ(six.high, 6);
  // An outlier moves Student's interval, not this one.
  std::vector<double> samples = OneTo(20);
  samples[0] = 1e6;
  const Interval twenty = CenterInterval(samples, 0.05);
  EXPECT_EQ(twenty.low, 6);
  EXPECT_EQ(twenty.high, 15);
  // A smaller share of misses needs more samples.
  EXPECT_GT(CenterInterval(OneTo(6), 0.01).high, 6);
}

// The same file holds plots/analysis/intervals.py to the same intervals, and
// tests/plots/analysis/intervals_test.py holds it to SciPy's binomial and
// Student's distributions; null is infinite.
TEST(CenterInterval, IsThatOfTheTableThatPlotsReadToo) {
  std::ifstream file("tests/harness/stats/intervals.json");
  const auto cases = nlohmann::json::parse(file);
  ASSERT_GT(cases.size(), 20U);
  for (const auto& row : cases) {
    const auto values = row.at("values").get<std::vector<double>>();
    const Interval logs =
        CenterInterval(Logs({values})[0], row.at("miss").get<double>());
    if (row.at("low").is_null()) {
      EXPECT_TRUE(std::isinf(logs.low) && std::isinf(logs.high)) << row;
      continue;
    }
    const double low = row.at("low").get<double>();
    const double high = row.at("high").get<double>();
    EXPECT_NEAR(std::exp(logs.low), low, 1e-8 * low) << row;
    EXPECT_NEAR(std::exp(logs.high), high, 1e-8 * high) << row;
  }
}

TEST(CenterInterval, OfOneValueIsInfinite) {
  EXPECT_TRUE(std::isinf(CenterInterval(std::vector<double>{1}, 0.05).high));
}

TEST(CenterInterval, ContainsTheMedianOfAnyFewValues) {
  for (std::size_t count = 2; count <= 12; ++count) {
    for (const double miss : {0.05, 1e-3, 1e-6}) {
      std::vector<double> values(count, 1.0);
      values[0] = 1e3;  // the mean is far from the median
      const Interval interval = CenterInterval(values, miss);
      EXPECT_LE(interval.low, Median(values)) << count;
      EXPECT_GE(interval.high, Median(values)) << count;
    }
  }
}

// The share of intervals of `count` normal logarithms that hold their centre,
// 0.
double Coverage(int count, double miss) {
  constexpr int kTrials = 4000;
  int covered = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> logs;
    for (int i = 0; i < count; ++i) {
      logs.push_back(0.1 * StandardNormal(Philox(
                               /*seed=*/1, /*purpose=*/0x7fffffff,
                               static_cast<std::uint32_t>(count),
                               static_cast<std::uint64_t>(trial * 100 + i))));
    }
    const Interval interval = CenterInterval(logs, miss);
    covered += interval.low <= 0 && 0 <= interval.high ? 1 : 0;
  }
  return static_cast<double>(covered) / kTrials;
}

// The bounds are four standard deviations of 4000 trials. Student's coverage is
// exact, that of order statistics at least as said: (8, 0.05) has 0.992, (20,
// 0.05) has 0.959.
TEST(CenterInterval, CoversAsOftenAsItSays) {
  const double tolerance = 4 * std::sqrt(0.05 * 0.95 / 4000);
  for (const int count : {2, 3, 5}) {
    EXPECT_NEAR(Coverage(count, 0.05), 0.95, tolerance) << count;
  }
  EXPECT_NEAR(Coverage(8, 0.05), 0.992, tolerance);
  EXPECT_NEAR(Coverage(20, 0.05), 0.959, tolerance);
}

TEST(Processes, AreSplitInTheirOrder) {
  EXPECT_EQ(SplitProcesses(std::vector<double>{1, 2, 3, 4, 5, 6}, 2),
            (ProcessSamples{{1, 2, 3}, {4, 5, 6}}));
  EXPECT_EQ(ProcessMedians({{1, 9, 2}, {4, 5, 6}}),
            (std::vector<double>{2, 5}));
}

TEST(Center, TakesProcessesNotRoundsWhereThereAreSeveral) {
  // Nothing varies within a process, so rounds would give an empty interval.
  const ProcessSamples logs(3, std::vector<double>(50, 0.0));
  ProcessSamples apart = logs;
  apart[1].assign(50, 1.0);
  EXPECT_EQ(Center(logs, 0.05).interval.high, 0);
  EXPECT_GT(Center(apart, 0.05).interval.high, 1);
  EXPECT_EQ(Center(apart, 0.05).value, 0);
}

TEST(PairedLogRatios, AreTakenRoundByRound) {
  // The medians' ratio is 3; round by round it is always 2.
  const ProcessSamples below = {{1, 10, 100}, {3, 30, 300}};
  const ProcessSamples above = {{2, 20, 200}, {6, 60, 600}};
  for (const auto& process : PairedLogRatios(above, below)) {
    for (const double log : process) EXPECT_NEAR(std::exp(log), 2, 1e-12);
  }
}

ProcessSamples OneRoundEach(const std::vector<double>& logs) {
  ProcessSamples samples;
  for (const double log : logs) samples.push_back({log});
  return samples;
}

// Welch's interval: the means have variances 0.5 and 2 (2.5/5, 10/5), there are
// 5.88 degrees, and t at 97.5 percent is 2.4591.
TEST(UnpairedLogRatio, IsWelchsOfTheProcesses) {
  const Estimate estimate = UnpairedLogRatio(
      OneRoundEach({1, 2, 3, 4, 5}), OneRoundEach({12, 14, 16, 18, 20}), 0.05);
  EXPECT_NEAR(estimate.value, 13, 1e-12);
  EXPECT_NEAR(estimate.interval.high - 13, 2.4591 * std::sqrt(2.5), 1e-3);
  EXPECT_NEAR(13 - estimate.interval.low, 2.4591 * std::sqrt(2.5), 1e-3);
}

TEST(UnpairedLogRatio, OfFewProcessesLeavesRoomForTheirLayout) {
  const std::vector<double> rounds(20, 0.0);
  for (const std::size_t few : {1U, 4U}) {
    const Estimate estimate = UnpairedLogRatio(
        ProcessSamples(few, rounds), ProcessSamples(10, rounds), 0.05);
    EXPECT_NEAR(std::exp(estimate.interval.high), 1.18, 1e-9) << few;
    EXPECT_NEAR(std::exp(estimate.interval.low), 1 / 1.18, 1e-9) << few;
  }
}

TEST(Drift, IsSeenWhereThereIsSome) {
  std::vector<double> rising, falling, level;
  for (int i = 0; i < 30; ++i) {
    const double wave = 0.01 * std::sin(2.5 * i);
    rising.push_back(1 + 0.01 * i + wave);
    falling.push_back(2 - 0.01 * i + wave);
    level.push_back(1 + wave);
  }
  EXPECT_NEAR(RoundDriftOf({rising}).change, 0.2 / 1.05, 0.02);
  EXPECT_LT(RoundDriftOf({rising}).p, 1e-3);
  EXPECT_LT(RoundDriftOf({falling}).change, -0.05);
  EXPECT_LT(RoundDriftOf({falling}).p, 1e-3);
  EXPECT_GT(RoundDriftOf({level}).p, 0.05);
  EXPECT_EQ(RoundDriftOf({std::vector<double>(9, 1.0)}).p, 1);
  // One process goes up, one down.
  EXPECT_GT(RoundDriftOf({rising, falling}).p, 0.5);
}

// The ranks of 3 late against 3 early samples add up to 4 + 5 + 6 = 15; 10.5 is
// expected, with variance 3 * 3 * 7 / 12, so z = 4 / sqrt(5.25).
TEST(Drift, HasTheRankSumsProbability) {
  const RoundDrift drift = RoundDriftOf({{1, 2, 3, 0, 0, 0, 4, 5, 6}});
  EXPECT_NEAR(drift.p, 0.0809, 1e-4);
  EXPECT_EQ(drift.change, 1.5);
}

TEST(Outliers, AreCountedByTheirOwnProcess) {
  // The quartiles are 2 and 4, so the fences are at -4 and 10.
  EXPECT_EQ(OutliersOf({{1, 2, 3, 4, 10}}), 0);
  EXPECT_EQ(OutliersOf({{1, 2, 3, 4, 10.5}}), 1);
  // The quartiles are 1 and 3, so the lower fence is at -5.
  EXPECT_EQ(OutliersOf({{1, 2, 3, 4, -5.5}}), 1);
  // A sample far from another process's samples is no outlier.
  EXPECT_EQ(OutliersOf({{1, 2, 3, 4, 5}, {101, 102, 103, 104, 200}}), 1);
}

}  // namespace
}  // namespace attnbench
