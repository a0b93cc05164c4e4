// Guards against a drift of the clock and a disturbed round that are not seen,
// and against one slow sample that is taken for a drift.
#include "harness/machine/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "tests/support/probed.h"

namespace attnbench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kRounds = 20;

Calibration Point(const std::string& name,
                  const std::vector<double>& samples_ns) {
  return CalibrationOf(name, testing::ChainOnly(samples_ns));
}

Calibration Steady(const std::string& name, double ns) {
  return Point(name, std::vector<double>(kRounds, ns));
}

TEST(Calibration, KeepsEverySampleAndSaysTheMedian) {
  const Calibration entry = Point("p", {3, 1, 2});
  EXPECT_EQ(entry.point, "p");
  EXPECT_EQ(entry.samples_ns, (std::vector<double>{3, 1, 2}));
  EXPECT_EQ(entry.median_ns, 2.0);
  // The logarithms' quartiles are ln(3) / 2 apart:
  // exp(2 * 1.2533 * 0.5493 / 1.349 / sqrt(1.9)) - 1.
  EXPECT_NEAR(entry.deviation, 1.0970, 1e-3);
  EXPECT_EQ(Point("p", {3}).deviation, 0);
}

TEST(Calibration, ASteadyClockDoesNotDrift) {
  const Drift drift = DriftOf({Steady("a", 15e3), Steady("b", 15e3)});
  EXPECT_EQ(drift.between_points, 0);
  EXPECT_EQ(drift.within_point, 0);
}

TEST(Calibration, PointsOutsideTheLargestGroupAreMeasuredAgain) {
  EXPECT_THAT(DriftedPoints({}), IsEmpty());
  EXPECT_THAT(DriftedPoints({Steady("a", 10), Steady("b", 10.9)}), IsEmpty());
  // Both ends may be far: a clock that was slower, and one that was faster.
  EXPECT_THAT(
      DriftedPoints({Steady("slow", 12.07), Steady("a", 10), Steady("b", 10.9),
                     Steady("fast", 9), Steady("c", 10.5)}),
      ElementsAre("fast", "slow"));
  // Of two groups the faster one stays.
  EXPECT_THAT(DriftedPoints({Steady("slow", 12), Steady("a", 10)}),
              ElementsAre("slow"));
}

TEST(Calibration, WithoutAGroupOfHalfNothingIsMeasuredAgain) {
  EXPECT_THAT(
      DriftedPoints({Steady("a", 10), Steady("b", 12), Steady("c", 14)}),
      IsEmpty());
}

TEST(Calibration, OneSlowSampleIsNoDrift) {
  std::vector<double> samples(kRounds, 10.0);
  samples[7] = 40;
  EXPECT_EQ(DriftOf({Point("a", samples)}).within_point, 0);
}

TEST(Calibration, AClockThatSlowsDownHalfWayDrifts) {
  std::vector<double> samples(kRounds, 10.0);
  for (int round = kRounds / 2; round < kRounds; ++round) {
    samples[static_cast<std::size_t>(round)] = 13;
  }
  const Drift drift = DriftOf({Steady("a", 11), Point("b", samples)});
  // The interquartile range is ln 1.3.
  EXPECT_NEAR(drift.within_point,
              std::expm1(2 * std::sqrt(std::numbers::pi / 2 / (kRounds - 1.1)) *
                         std::log(1.3) / 1.349),
              1e-4);
  EXPECT_EQ(drift.worst_point, "b");
}

TEST(Calibration, PointsOnDifferentClocksDrift) {
  const Drift drift =
      DriftOf({Steady("a", 10), Steady("b", 12), Steady("c", 11)});
  EXPECT_NEAR(drift.between_points, 0.2, 1e-12);
  EXPECT_EQ(drift.within_point, 0);
}

TEST(Calibration, OfNothingIsNoDrift) {
  const Drift drift = DriftOf({});
  EXPECT_EQ(drift.between_points, 0);
  EXPECT_EQ(drift.within_point, 0);
  EXPECT_EQ(drift.worst_point, "");
}

// ---- the other probes -------------------------------------------------------

ProbedRounds TwoProbes(const std::vector<double>& chain_ns,
                       const std::vector<double>& read_ns) {
  ProbedRounds rounds = testing::ChainOnly(chain_ns);
  for (std::size_t i = 0; i < read_ns.size(); ++i) {
    rounds.times[i]["L2"] = read_ns[i];
  }
  return rounds;
}

TEST(Calibration, KeepsTheSamplesOfEveryProbeByItsName) {
  const Calibration entry =
      CalibrationOf("p", TwoProbes({1, 2, 3}, {40, 60, 50}));
  EXPECT_EQ(entry.samples_ns, (std::vector<double>{1, 2, 3}));
  ASSERT_EQ(entry.probes.size(), 1U) << "the chain's stand by themselves";
  EXPECT_EQ(entry.probes.at("L2"), (std::vector<double>{40, 60, 50}));
}

TEST(Calibration, ARoundStraysByItsWorstProbe) {
  const Excess excess(TwoProbes({10, 10, 20}, {100, 100, 90}).times);
  EXPECT_DOUBLE_EQ(excess({{"chain", 12}, {"L2", 150}}), 1.5);
  EXPECT_DOUBLE_EQ(excess({{"chain", 20}, {"L2", 150}}), 2.0);
}

TEST(Calibration, CountsTheRoundsThatStrayFromThoseOfAllProcesses) {
  ProbedRounds rounds =
      TwoProbes({10, 10, 10, 10, 14, 14}, {50, 50, 65, 66, 50, 50});
  rounds.again = 7;
  const Calibration entry = CalibrationOf("p", rounds);
  EXPECT_EQ(entry.strayed->still, 3) << "65 is just 1.3 times the median";
  EXPECT_EQ(entry.strayed->again, 7);
}

TEST(Calibration, ProbesDriftBetweenPointsByTheirMedians) {
  const auto drifts = DriftOfProbes(
      {CalibrationOf("a", TwoProbes({10, 10, 10}, {100, 500, 100})),
       CalibrationOf("b", TwoProbes({20, 20, 20}, {150, 150, 150})),
       Steady("c", 10)});
  ASSERT_EQ(drifts.size(), 1U);
  EXPECT_DOUBLE_EQ(drifts.at("L2"), 0.5);
}

std::vector<std::string> NamesOn(const std::string& machine) {
  Probes probes(machine.empty() ? std::vector<Cache>() : ReadCaches(machine));
  std::vector<std::string> names;
  for (const auto& [name, elapsed_ns] : probes.Time()) names.push_back(name);
  return names;
}

TEST(Probes, AreOfTheLevelsThatTheMachineTells) {
  EXPECT_THAT(NamesOn(""), ElementsAre("chain", "throughput"));
  EXPECT_THAT(NamesOn("l2:1(size=65536) pu:2"),
              ElementsAre("DRAM", "L2", "chain", "throughput"));
  EXPECT_THAT(NamesOn("l3:1(size=262144) l2:1(size=65536) pu:2"),
              ElementsAre("DRAM", "L2", "L3", "chain", "throughput"));
  EXPECT_THAT(NamesOn("l3:1(size=262143) l2:1(size=65536) pu:2"),
              ElementsAre("DRAM", "L2", "chain", "throughput"))
      << "nothing has room between so small an L3 and L2";
}

// A virtual machine may tell a cache that is larger than its memory.
TEST(Probes, ReadAsMuchWhateverTheLastCacheIs) {
  const Index small =
      Probes(ReadCaches("l3:1(size=33554432) l2:1(size=2097152) pu:2")).bytes();
  const Index large =
      Probes(ReadCaches("l3:1(size=503316480) l2:1(size=2097152) pu:2"))
          .bytes();
  EXPECT_EQ(small, large);
  EXPECT_LE(large, Index{8} << 20);
  EXPECT_THAT(NamesOn("l3:1(size=503316480) l2:1(size=2097152) pu:2"),
              ElementsAre("DRAM", "L2", "L3", "chain", "throughput"));
  EXPECT_THAT(NamesOn("l3:1(size=4294967296) l2:1(size=1073741824) pu:2"),
              ElementsAre("DRAM", "chain", "throughput"))
      << "a level that wants more than kMostBytes";
}

// Fewer cycles than the loop has steps would mean that the compiler took it
// apart. No processor has 10 GHz.
TEST(Probes, RunTheLoopOfTheChain) {
  EXPECT_GT(Probes(std::vector<Cache>()).Time().at("chain"), 550);
}

TEST(Calibration, IsJoinedOfTheProbesThatBothProcessesHave) {
  ProbedRounds first, second;
  first.times = {{{"chain", 10.0}, {"DRAM", 5.0}},
                 {{"chain", 11.0}, {"DRAM", 6.0}}};
  first.again = 1;
  second.times = {{{"chain", 30.0}}, {{"chain", 30.0}}};
  const Calibration joined =
      Joined(CalibrationOf("p", first), CalibrationOf("p", second));
  EXPECT_EQ(joined.samples_ns, (std::vector<double>{10, 11, 30, 30}));
  EXPECT_TRUE(joined.probes.empty());
  EXPECT_EQ(joined.strayed->again, 1);
  // Half of the rounds are of the process that drifted.
  EXPECT_NEAR(joined.deviation, CalibrationOf("p", first).deviation / 2, 1e-12);
  const Calibration both =
      Joined(CalibrationOf("p", first), CalibrationOf("p", first));
  EXPECT_EQ(both.probes.at("DRAM"), (std::vector<double>{5, 6, 5, 6}));
  EXPECT_EQ(Joined(both, joined).samples_ns.size(), 8U);
  EXPECT_NEAR(both.deviation,
              CalibrationOf("p", first).deviation / std::sqrt(2.0), 1e-12);
}

}  // namespace
}  // namespace attnbench
