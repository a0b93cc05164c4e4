// Guards against intervals of the wrong unit, or without what a run does not
// show: they look plausible and cover too little.
#include "harness/stats/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <vector>

#include "mechanisms/common/philox.h"

namespace attnbench {
namespace {

TEST(Statistics, MassThatIsMissingIsAnOutcomeOfATotalVariation) {
  const std::vector<double> all = {0.5, 0.5};
  EXPECT_DOUBLE_EQ(TotalVariation(all, std::vector<double>{0.75, 0.25}), 0.25);
  EXPECT_DOUBLE_EQ(TotalVariation(all, std::vector<double>{0.5, 0.25}), 0.25);
}

TEST(Median, IsTheMiddleSampleOrTheMeanOfTwo) {
  EXPECT_EQ(Median(std::vector<double>{7}), 7);
  EXPECT_EQ(Median(std::vector<double>{5, 1, 9}), 5);
  EXPECT_EQ(Median(std::vector<double>{4, 1, 9, 2}), 3);
  EXPECT_EQ(Median(std::vector<double>{1e308, 1.5e308}), 1.25e308);
}

TEST(Quantile, IsLinearBetweenNeighbours) {
  const std::vector<double> samples = {40, 10, 20, 30};
  EXPECT_EQ(Quantile(samples, 0), 10);
  EXPECT_EQ(Quantile(samples, 0.25), 17.5);
  EXPECT_EQ(Quantile(samples, 1), 40);
  EXPECT_EQ(Quantile(std::vector<double>{7}, 0.75), 7);
}

TEST(Processes, AreSplitInTheirOrder) {
  EXPECT_EQ(SplitProcesses(std::vector<double>{1, 2, 3, 4, 5, 6}, 2),
            (ProcessSamples{{1, 2, 3}, {4, 5, 6}}));
  EXPECT_EQ(ProcessMedians({{1, 9, 2}, {4, 5, 6}}),
            (std::vector<double>{2, 5}));
}

TEST(Center, OfARoundAloneHasNoError) {
  const Center center = CenterOf({{3}});
  EXPECT_EQ(center.value, 3);
  EXPECT_TRUE(std::isinf(center.variance.value));
}

// The quartiles of 1 to 5 are 2 and 4.
TEST(Center, OfRoundsIsTheirMedianWhateverAFewDo) {
  const double variance =
      std::numbers::pi / 2 * (2 / 1.349) * (2 / 1.349) / 3.9;
  for (const double last : {5.0, 1e6}) {
    const Center center = CenterOf({{3, 1, 2, 4, last}});
    EXPECT_EQ(center.value, 3);
    EXPECT_NEAR(center.variance.value, variance, 1e-12);
    EXPECT_EQ(center.variance.degrees, 2);
  }
}

TEST(Center, TakesProcessesNotRoundsWhereThereAreSeveral) {
  // Nothing varies within a process, so rounds would leave no variance.
  const std::vector<double> rounds(50, 0.0);
  const std::vector<double> others(50, 3.0);
  const Center center = CenterOf({rounds, others, rounds});
  EXPECT_EQ(center.value, 1);
  EXPECT_NEAR(center.variance.value, 3.0 / 3, 1e-12);
  EXPECT_EQ(center.variance.degrees, 2);
}

TEST(Center, TakesBuildsNotProcessesWhereThereAreSeveral) {
  // Processes 0, 2, 4 are of one build, processes 1, 3, 5 of the other.
  const ProcessSamples logs = {{1}, {5}, {2}, {6}, {3}, {7}};
  EXPECT_EQ(BuildMeans(logs, 2), (std::vector<double>{2, 6}));
  const Center center = CenterOf(logs, 2);
  EXPECT_EQ(center.value, 4);
  EXPECT_NEAR(center.variance.value, 8.0 / 2, 1e-12);
  EXPECT_EQ(center.variance.degrees, 1);
}

// 5.88 degrees, for which t at 97.5 percent is 2.4591.
TEST(HalfWidth, HasTheDegreesOfWelchAndSatterthwaite) {
  const Variance parts[] = {{0.5, 4}, {2, 4}};
  EXPECT_NEAR(HalfWidth(parts, 0.05), 2.4591 * std::sqrt(2.5), 1e-3);
  const Variance nothing[] = {{0, 4}};
  EXPECT_EQ(HalfWidth(nothing, 0.05), 0);
}

constexpr Effect kEffect = {.s_build = 0.03,
                            .build_degrees = 19,
                            .s_process = 0.02,
                            .process_degrees = 77,
                            .s_run = 0.1,
                            .run_degrees = 10};

double HalfWidthOf(const ProcessSamples& logs, std::int64_t builds) {
  const Estimate estimate = EstimateOf(logs, builds, kEffect);
  return estimate.interval.high - estimate.value;
}

TEST(Estimate, HasInItWhatOneRunCannotShow) {
  const ProcessSamples same(6, {7.0});
  const std::vector<Variance> run_alone = {{0.01, 10}};
  const std::vector<Variance> build_too = {{0.01, 10}, {0.0009, 19}};
  const std::vector<Variance> all = {{0.01, 10}, {0.0009, 19}, {0.0004, 77}};
  const ProcessSamples one_process(1, std::vector<double>(6, 7.0));
  EXPECT_NEAR(HalfWidthOf(same, 2), HalfWidth(run_alone, 0.05), 1e-12);
  EXPECT_NEAR(HalfWidthOf(same, 1), HalfWidth(build_too, 0.05), 1e-12);
  EXPECT_NEAR(HalfWidthOf(one_process, 1), HalfWidth(all, 0.05), 1e-12);
}

Effect EffectOf(const nlohmann::json& row) {
  return {.s_build = row.at("s_build").get<double>(),
          .build_degrees = row.at("build_degrees").get<double>(),
          .s_process = row.at("s_process").get<double>(),
          .process_degrees = row.at("process_degrees").get<double>(),
          .s_run = row.at("s_run").get<double>(),
          .run_degrees = row.at("run_degrees").get<double>()};
}

// The same file holds analysis/intervals.py to the same rule, and
// tests/python/analysis/intervals_test.py holds it to SciPy; null is infinite.
TEST(Estimate, IsThatOfTheTableThatPlotsReadToo) {
  std::ifstream file("tests/harness/stats/intervals.json");
  const auto cases = nlohmann::json::parse(file);
  ASSERT_GT(cases.size(), 20U);
  for (const auto& row : cases) {
    const Estimate estimate =
        EstimateOf(row.at("logs").get<ProcessSamples>(),
                   row.at("builds").get<std::int64_t>(),
                   EffectOf(row.at("effect")), row.at("miss").get<double>());
    EXPECT_NEAR(estimate.value, row.at("value").get<double>(), 1e-9) << row;
    const auto& [low, high] = estimate.interval;
    if (row.at("low").is_null()) {
      EXPECT_TRUE(std::isinf(low) && std::isinf(high)) << row;
      continue;
    }
    EXPECT_NEAR(low, row.at("low").get<double>(), 1e-8) << row;
    EXPECT_NEAR(high, row.at("high").get<double>(), 1e-8) << row;
  }
}

constexpr int kTrials = 4000;

// The share of intervals that hold their centre, 0, where builds, runs,
// processes and rounds move times as the effect and these standard deviations
// say.
double Coverage(std::size_t processes, std::size_t rounds,
                std::int64_t builds) {
  constexpr double kRound = 0.05;
  int covered = 0;
  std::uint64_t place = 0;
  const auto normal = [&](std::uint32_t trial) {
    return StandardNormal(
        Philox(/*seed=*/1, /*purpose=*/0x7fffffff, trial, place++));
  };
  for (std::uint32_t trial = 0; trial < kTrials; ++trial) {
    place = 1000 * static_cast<std::uint64_t>(builds) + 100 * processes;
    const double run = kEffect.s_run * normal(trial);
    std::vector<double> of_builds;
    for (std::int64_t i = 0; i < builds; ++i) {
      of_builds.push_back(kEffect.s_build * normal(trial));
    }
    ProcessSamples logs(processes);
    for (std::size_t k = 0; k < processes; ++k) {
      const double process = run + of_builds[k % of_builds.size()] +
                             kEffect.s_process * normal(trial);
      for (std::size_t i = 0; i < rounds; ++i) {
        logs[k].push_back(process + kRound * normal(trial));
      }
    }
    const Interval interval = EstimateOf(logs, builds, kEffect).interval;
    covered += interval.low <= 0 && 0 <= interval.high ? 1 : 0;
  }
  return static_cast<double>(covered) / kTrials;
}

// The effects are known here, but count as estimates of 10 degrees, so the
// intervals cover somewhat more than they say: t is 2.228 instead of 1.960.
TEST(Estimate, CoversAsOftenAsItSays) {
  const double tolerance = 4 * std::sqrt(0.05 * 0.95 / kTrials);
  const struct {
    std::size_t processes, rounds;
    std::int64_t builds;
  } designs[] = {{1, 20, 1}, {5, 3, 1}, {20, 2, 20}, {12, 3, 4}};
  for (const auto& [processes, rounds, builds] : designs) {
    EXPECT_NEAR(Coverage(processes, rounds, builds), 0.965, tolerance)
        << processes << " processes of " << builds << " builds";
  }
}

TEST(PairedLogRatios, AreTakenRoundByRound) {
  // The medians' ratio is 3; round by round it is always 2.
  const ProcessSamples below = {{1, 10, 100}, {3, 30, 300}};
  const ProcessSamples above = {{2, 20, 200}, {6, 60, 600}};
  for (const auto& process : PairedLogRatios(above, below)) {
    for (const double log : process) EXPECT_NEAR(std::exp(log), 2, 1e-12);
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
