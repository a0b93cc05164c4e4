// Guards against sameness that is claimed because nothing was found, and
// against changes that are claimed of noise or of layout.
#include "harness/stats/change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace attnbench {
namespace {

using ::testing::HasSubstr;

// Logarithms of `processes` medians around `ratio`, `spread` apart in all.
ProcessSamples Around(double ratio, double spread, int processes) {
  ProcessSamples logs;
  for (int i = 0; i < processes; ++i) {
    const double place = processes == 1 ? 0 : i / (processes - 1.0) - 0.5;
    logs.push_back(std::vector<double>(20, std::log(ratio) + spread * place));
  }
  return logs;
}

Change Of(double ratio, double spread, int processes) {
  return ChangeOf(Around(1, spread, processes),
                  Around(ratio, spread, processes), 0.05, 0.05);
}

TEST(Change, SaysWhatTheIntervalShows) {
  EXPECT_EQ(Of(1, 0.02, 10).kind, ChangeKind::kSame);
  EXPECT_EQ(Of(1.03, 0.02, 10).kind, ChangeKind::kSame);
  EXPECT_EQ(Of(1.1, 0.02, 10).kind, ChangeKind::kSlower);
  EXPECT_EQ(Of(1 / 1.1, 0.02, 10).kind, ChangeKind::kFaster);
  EXPECT_NEAR(Of(1.1, 0.02, 10).ratio.value, 1.1, 1e-12);
}

TEST(Change, IsAmbiguousWithItsReasonOtherwise) {
  const Change wide = Of(1, 0.3, 10);
  EXPECT_EQ(wide.kind, ChangeKind::kAmbiguous);
  EXPECT_THAT(wide.reason, HasSubstr("reaches beyond the margin of 5 %"));
  const Change small = Of(1.045, 0.03, 10);
  EXPECT_EQ(small.kind, ChangeKind::kAmbiguous);
  EXPECT_GT(small.ratio.interval.low, 1);
  EXPECT_THAT(small.reason, HasSubstr("differs, but perhaps by less"));
}

TEST(Change, AWideIntervalIsNeverSame) {
  for (const double ratio : {0.98, 1.0, 1.02}) {
    EXPECT_EQ(Of(ratio, 0.5, 10).kind, ChangeKind::kAmbiguous) << ratio;
  }
}

TEST(Change, FewProcessesShowNoMoreThanLayoutCannotDo) {
  for (const int few : {1, 4}) {
    EXPECT_EQ(Of(1, 0, few).kind, ChangeKind::kAmbiguous);
    EXPECT_EQ(Of(1.17, 0, few).kind, ChangeKind::kAmbiguous);
    EXPECT_THAT(Of(1.17, 0, few).reason, HasSubstr("--processes"));
    EXPECT_EQ(Of(1.2, 0, few).kind, ChangeKind::kSlower);
    EXPECT_EQ(Of(1 / 1.2, 0, few).kind, ChangeKind::kFaster);
  }
}

TEST(Change, NoiseOfTheRoundsIsNotCalledLayout) {
  ProcessSamples noisy(1);
  for (int i = 0; i < 20; ++i) noisy[0].push_back(0.1 * i);
  const Change change = ChangeOf(noisy, noisy, 0.05, 0.05);
  EXPECT_EQ(change.kind, ChangeKind::kAmbiguous);
  EXPECT_THAT(change.reason, HasSubstr("rounds are too noisy"));
}

TEST(Change, OneRoundSaysNothing) {
  const ProcessSamples one = {{0.0}};
  const ProcessSamples other = {{10.0}};
  const Change change = ChangeOf(one, other, 0.05, 0.05);
  EXPECT_EQ(change.kind, ChangeKind::kAmbiguous);
  EXPECT_THAT(change.reason, HasSubstr("--repetitions"));
}

TEST(Change, MoreComparisonsNeedMoreEvidence) {
  const ProcessSamples a = Around(1, 0.1, 10);
  const ProcessSamples b = Around(1.07, 0.1, 10);
  EXPECT_EQ(ChangeOf(a, b, 0.05, 0.05).kind, ChangeKind::kSlower);
  EXPECT_EQ(ChangeOf(a, b, 0.05 / 1000, 0.05).kind, ChangeKind::kAmbiguous);
}

}  // namespace
}  // namespace attnbench
