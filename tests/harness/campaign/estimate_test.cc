// Guards against an estimate that leaves out rounds, trials, skipped cells or
// long trials, or that needs the memory of what it estimates.
#include "harness/campaign/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attnbench {
namespace {

Sweep SweepOf(const std::map<std::string, std::vector<AxisValue>>& axes) {
  SweepRequest request;
  request.axes = axes;
  return ExpandSweep(request);
}

Sweep Small() { return SweepOf({{"memory_length", {4}}, {"dim", {4}}}); }

TEST(Estimate, ShortTrialsTakeTheirRounds) {
  Sweep sweep = Small();
  const auto cells = static_cast<double>(sweep.points[0].cells.size());
  sweep.repetitions = 10;
  const double ten = EstimateTime(sweep).total_s();
  sweep.repetitions = 1010;
  // A sample of a short trial is a millisecond.
  EXPECT_NEAR(EstimateTime(sweep).total_s() - ten, cells * 1000 * 1e-3, 1e-9);
  EXPECT_GT(ten, cells * 10 * 1e-3);
}

TEST(Estimate, PointsAddUpToTheWhole) {
  const Sweep sweep = SweepOf({{"memory_length", {4, 4000}}});
  const TimeEstimate estimate = EstimateTime(sweep);
  ASSERT_EQ(estimate.point_s.size(), 2U);
  EXPECT_GT(estimate.point_s[1], 4 * estimate.point_s[0]);
  EXPECT_DOUBLE_EQ(estimate.total_s(), estimate.start_s + estimate.point_s[0] +
                                           estimate.point_s[1]);
}

TEST(Estimate, MoreTrialsThanFitASampleTakeLonger) {
  Sweep sweep = SweepOf({{"memory_length", {500}}});
  const double before = EstimateTime(sweep).total_s();
  sweep.trials = 100'000;
  EXPECT_GT(EstimateTime(sweep).total_s(), 10 * before);
}

TEST(Estimate, SkippedCellsTakeNoTime) {
  Sweep sweep = SweepOf({{"threads", {2}}, {"memory_length", {4}}});
  SkipThreadsBeyond(1, sweep);
  EXPECT_EQ(EstimateTime(sweep).total_s(), 0);
}

TEST(Estimate, EveryModeAndHugeLengthsHaveAFiniteOne) {
  const Sweep sweep = SweepOf({{"memory_length", {1, std::int64_t{1} << 40}},
                               {"output_length", {1, std::int64_t{1} << 40}},
                               {"chunk_width", {1, "inf"}},
                               {"mode", {"decode", "expect", "gradient"}},
                               {"scope", {"full", "attention"}},
                               {"workload", {"uniform", "planted"}}});
  for (const double seconds : EstimateTime(sweep).point_s) {
    EXPECT_TRUE(std::isfinite(seconds));
    EXPECT_GT(seconds, 0);
  }
}

TEST(Estimate, DurationsAreRoundedUp) {
  for (const auto& [seconds, text] : {std::pair(0.2, "1 s"),
                                      {59.0, "59 s"},
                                      {59.5, "1 min"},
                                      {61.0, "2 min"},
                                      {3600.0, "1 h 0 min"},
                                      {7500.0, "2 h 5 min"}}) {
    EXPECT_EQ(DurationText(seconds), text) << seconds;
  }
}

}  // namespace
}  // namespace attnbench
