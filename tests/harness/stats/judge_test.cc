// Guards against sameness that is claimed because nothing was found, and
// against changes that are claimed of noise or of layout.
#include "harness/stats/judge.h"

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

Judgement Of(double ratio, double spread, int processes) {
  return JudgeChange(Around(1, spread, processes),
                     Around(ratio, spread, processes), 0.05, 0.05);
}

TEST(JudgeChange, SaysWhatTheIntervalShows) {
  EXPECT_EQ(Of(1, 0.02, 10).verdict, Verdict::kSame);
  EXPECT_EQ(Of(1.03, 0.02, 10).verdict, Verdict::kSame);
  EXPECT_EQ(Of(1.1, 0.02, 10).verdict, Verdict::kSlower);
  EXPECT_EQ(Of(1 / 1.1, 0.02, 10).verdict, Verdict::kFaster);
  EXPECT_NEAR(Of(1.1, 0.02, 10).ratio.value, 1.1, 1e-12);
}

TEST(JudgeChange, IsAmbiguousWithItsReasonOtherwise) {
  const Judgement wide = Of(1, 0.3, 10);
  EXPECT_EQ(wide.verdict, Verdict::kAmbiguous);
  EXPECT_THAT(wide.reason, HasSubstr("reaches beyond the margin of 5 %"));
  const Judgement small = Of(1.045, 0.03, 10);
  EXPECT_EQ(small.verdict, Verdict::kAmbiguous);
  EXPECT_GT(small.ratio.interval.low, 1);
  EXPECT_THAT(small.reason, HasSubstr("differs, but perhaps by less"));
}

TEST(JudgeChange, AWideIntervalIsNeverSame) {
  for (const double ratio : {0.98, 1.0, 1.02}) {
    EXPECT_EQ(Of(ratio, 0.5, 10).verdict, Verdict::kAmbiguous) << ratio;
  }
}

TEST(JudgeChange, FewProcessesShowNoMoreThanLayoutCannotDo) {
  for (const int few : {1, 4}) {
    EXPECT_EQ(Of(1, 0, few).verdict, Verdict::kAmbiguous);
    EXPECT_EQ(Of(1.17, 0, few).verdict, Verdict::kAmbiguous);
    EXPECT_THAT(Of(1.17, 0, few).reason, HasSubstr("--processes"));
    EXPECT_EQ(Of(1.2, 0, few).verdict, Verdict::kSlower);
    EXPECT_EQ(Of(1 / 1.2, 0, few).verdict, Verdict::kFaster);
  }
}

TEST(JudgeChange, NoiseOfTheRoundsIsNotCalledLayout) {
  ProcessSamples noisy(1);
  for (int i = 0; i < 20; ++i) noisy[0].push_back(0.1 * i);
  const Judgement judgement = JudgeChange(noisy, noisy, 0.05, 0.05);
  EXPECT_EQ(judgement.verdict, Verdict::kAmbiguous);
  EXPECT_THAT(judgement.reason, HasSubstr("rounds are too noisy"));
}

TEST(JudgeChange, OneRoundSaysNothing) {
  const ProcessSamples one = {{0.0}};
  const ProcessSamples other = {{10.0}};
  const Judgement judgement = JudgeChange(one, other, 0.05, 0.05);
  EXPECT_EQ(judgement.verdict, Verdict::kAmbiguous);
  EXPECT_THAT(judgement.reason, HasSubstr("--repetitions"));
}

TEST(JudgeChange, MoreComparisonsNeedMoreEvidence) {
  const ProcessSamples a = Around(1, 0.1, 10);
  const ProcessSamples b = Around(1.07, 0.1, 10);
  EXPECT_EQ(JudgeChange(a, b, 0.05, 0.05).verdict, Verdict::kSlower);
  EXPECT_EQ(JudgeChange(a, b, 0.05 / 1000, 0.05).verdict, Verdict::kAmbiguous);
}

}  // namespace
}  // namespace attnbench
