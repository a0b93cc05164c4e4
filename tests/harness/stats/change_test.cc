// Guards against sameness that is claimed because nothing was found, and
// against changes that are claimed of noise or of what a run does.
#include "harness/stats/change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace attnbench {
namespace {

using ::testing::HasSubstr;

// The ratio of two sides with these standard errors, which 9 degrees of freedom
// know, and an effect of the run.
LogRatio Ratio(double ratio, double error, double s_run = 0) {
  const Variance side = {error * error, 9};
  return {std::log(ratio), {side, side}, {{s_run * s_run, 10}}};
}

Change Of(double ratio, double error, double s_run = 0) {
  return ChangeOf(Ratio(ratio, error, s_run), 0.05, 0.05);
}

TEST(Change, SaysWhatTheIntervalShows) {
  EXPECT_EQ(Of(1, 0.002).kind, ChangeKind::kSame);
  EXPECT_EQ(Of(1.03, 0.002).kind, ChangeKind::kSame);
  EXPECT_EQ(Of(1.1, 0.002).kind, ChangeKind::kSlower);
  EXPECT_EQ(Of(1 / 1.1, 0.002).kind, ChangeKind::kFaster);
  EXPECT_NEAR(Of(1.1, 0.002).ratio.value, 1.1, 1e-12);
}

// t at 97.5 percent with 18 degrees is 2.101.
TEST(Change, HasTheErrorsOfBothSides) {
  const Interval interval = Of(1, 0.02).ratio.interval;
  EXPECT_NEAR(std::log(interval.high), 2.1009 * 0.02 * std::sqrt(2), 1e-5);
  EXPECT_NEAR(interval.low * interval.high, 1, 1e-12);
}

TEST(Change, IsAmbiguousWithItsReasonOtherwise) {
  const Change wide = Of(1, 0.05);
  EXPECT_EQ(wide.kind, ChangeKind::kAmbiguous);
  EXPECT_THAT(wide.reason, HasSubstr("reaches beyond the margin of 5 %"));
  const Change small = Of(1.045, 0.01);
  EXPECT_EQ(small.kind, ChangeKind::kAmbiguous);
  EXPECT_GT(small.ratio.interval.low, 1);
  EXPECT_THAT(small.reason, HasSubstr("differs, but perhaps by less"));
}

TEST(Change, AWideIntervalIsNeverSame) {
  for (const double ratio : {0.98, 1.0, 1.02}) {
    EXPECT_EQ(Of(ratio, 0.1).kind, ChangeKind::kAmbiguous) << ratio;
  }
}

// t at 97.5 percent with 10 degrees is 2.228, so a run explains 11.8 percent.
TEST(Change, WhatARunDoesIsNoChangeHoweverExactTheSamplesAre) {
  EXPECT_NEAR(Detectable(Ratio(1, 0, 0.05).effects, 0.05), 0.1179, 1e-4);
  for (const double ratio : {1.0, 1.1, 1 / 1.1}) {
    EXPECT_EQ(Of(ratio, 0, 0.05).kind, ChangeKind::kAmbiguous) << ratio;
    EXPECT_THAT(Of(ratio, 0, 0.05).reason, HasSubstr("may differ by 11.8 %"));
  }
  EXPECT_EQ(Of(1.13, 0, 0.05).kind, ChangeKind::kSlower);
  EXPECT_EQ(Of(1 / 1.13, 0, 0.05).kind, ChangeKind::kFaster);
}

TEST(Change, OneRoundSaysNothing) {
  const double infinite = std::numeric_limits<double>::infinity();
  const Change change = Of(10, infinite);
  EXPECT_EQ(change.kind, ChangeKind::kAmbiguous);
  EXPECT_THAT(change.reason, HasSubstr("--repetitions"));
}

TEST(Change, NumbersThatReachNoFurtherAreNoSingleRound) {
  // exp of the interval's ends is 0 and infinite.
  const Change wide = Of(1, 1000);
  EXPECT_EQ(wide.kind, ChangeKind::kAmbiguous);
  EXPECT_THAT(wide.reason, HasSubstr("wider than numbers reach"));
  // The times 5e-324 and 1e308 have this ratio.
  const Change large = ChangeOf({1453, {{1e-6, 9}}, {}}, 0.05, 0.05);
  EXPECT_EQ(large.kind, ChangeKind::kSlower);
  EXPECT_TRUE(std::isfinite(large.ratio.value));
}

TEST(Change, AChangeInWordsIsANumberOfPercent) {
  EXPECT_EQ(PercentOf(0.1179), "11.8 %");
  EXPECT_EQ(PercentOf(1e4), "over 1000000 %");
  EXPECT_EQ(PercentOf(std::numeric_limits<double>::infinity()),
            "over 1000000 %");
}

TEST(Change, MoreComparisonsNeedMoreEvidence) {
  const LogRatio ratio = Ratio(1.07, 0.015);
  EXPECT_EQ(ChangeOf(ratio, 0.05, 0.05).kind, ChangeKind::kSlower);
  EXPECT_EQ(ChangeOf(ratio, 0.05 / 1000, 0.05).kind, ChangeKind::kAmbiguous);
}

}  // namespace
}  // namespace attnbench
