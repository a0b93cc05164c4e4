// Guards against a drift of the clock that is not seen, and against one slow
// sample that is taken for a drift.
#include "harness/machine/calibration.h"

#include <gtest/gtest.h>

#include <vector>

namespace attnbench {
namespace {

constexpr int kRounds = 20;

Calibration Point(const std::string& name,
                  const std::vector<double>& samples_ns) {
  return CalibrationOf(name, samples_ns);
}

Calibration Steady(const std::string& name, double ns) {
  return Point(name, std::vector<double>(kRounds, ns));
}

TEST(Calibration, KeepsEverySampleAndSaysTheMedian) {
  const Calibration entry = Point("p", {3, 1, 2});
  EXPECT_EQ(entry.point, "p");
  EXPECT_EQ(entry.samples_ns, (std::vector<double>{3, 1, 2}));
  EXPECT_EQ(entry.median_ns, 2.0);
  // Three rounds have no narrower interval than their range.
  EXPECT_EQ(entry.deviation, 0.5);
}

TEST(Calibration, ASteadyClockDoesNotDrift) {
  const Drift drift = DriftOf({Steady("a", 15e3), Steady("b", 15e3)});
  EXPECT_EQ(drift.between_points, 0);
  EXPECT_EQ(drift.within_point, 0);
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
  EXPECT_NEAR(drift.within_point, 1.5 / 11.5, 1e-12);
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

// Fewer cycles than the loop has steps would mean that the compiler took it
// apart. No processor has 10 GHz.
TEST(Calibration, TheLoopIsRun) { EXPECT_GT(TimeCalibrationNs(), 550); }

}  // namespace
}  // namespace attnbench
