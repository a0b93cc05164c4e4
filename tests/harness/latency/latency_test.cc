// Guards against a latency that is another than the field's: an index or a pace
// that is off by one, outputs behind the end of the input that count, or what
// was read passing for unread.
#include "harness/latency/latency.h"

#include <gtest/gtest.h>

#include <vector>

namespace attnbench {
namespace {

Latency Of(const std::vector<double>& delays, Index memory_length,
           Index reference_length = 0) {
  return LatencyOf(delays, memory_length, reference_length).value();
}

TEST(Latency, OfAKnownVector) {
  const Latency latency = Of({3, 4, 5, 6, 6}, 6);
  EXPECT_DOUBLE_EQ(latency.ap, 0.8);
  EXPECT_DOUBLE_EQ(latency.al, 2.7);
  EXPECT_DOUBLE_EQ(latency.dal, 3.0);
  EXPECT_DOUBLE_EQ(latency.laal, 2.7);
}

TEST(Latency, OfAKnownVectorAgainstALongerReference) {
  // LAAL is (3 + 4 + 5 + 6) / 4 less the mean of 0, 1, 2, 3 times 6 / 8.
  const Latency latency = Of({3, 4, 5, 6, 6}, 6, 8);
  EXPECT_DOUBLE_EQ(latency.laal, 4.5 - 1.5 * 0.75);
  EXPECT_DOUBLE_EQ(latency.al, 2.7);
  // A shorter reference changes nothing.
  EXPECT_DOUBLE_EQ(Of({3, 4, 5, 6, 6}, 6, 4).laal, 2.7);
}

TEST(Latency, WhereEverythingIsChosenAtTheFirstEntry) {
  // g is 1, 1, 1, 1 of 8. It never reaches the end, so all four outputs count,
  // and the pace is 2 entries an output.
  const Latency latency = Of({1, 1, 1, 1}, 8);
  EXPECT_DOUBLE_EQ(latency.ap, 4.0 / 32);
  EXPECT_DOUBLE_EQ(latency.al, 1 - 3.0);
  // Every output is charged at least 2 entries more than the one before it.
  EXPECT_DOUBLE_EQ(latency.dal, 1);
}

TEST(Latency, WhereNothingIsChosen) {
  const std::vector<StepTrace> steps(3);
  const std::vector<double> delays = DelaysOf(steps, 6);
  EXPECT_EQ(delays, (std::vector<double>{6, 6, 6}));
  const Latency latency = Of(delays, 6);
  EXPECT_EQ(latency.ap, 1);
  EXPECT_EQ(latency.al, 6);  // only the first output counts
  EXPECT_EQ(latency.laal, 6);
  EXPECT_EQ(latency.dal, 6);
}

TEST(Latency, AnOutputOfSeveralHeadsWaitsForTheFurthest) {
  const std::vector<StepTrace> steps = {
      {.end = 2, .head = 0}, {.end = 1, .head = 1}, {.end = 2, .head = 0},
      {.end = 5, .head = 1}, {.end = 3, .head = 0}, {.head = 1}};
  EXPECT_EQ(DelaysOf(steps, 6), (std::vector<double>{2, 5, 6}));
}

TEST(Latency, OfADecoderThatWaitsForKEntriesIsK) {
  for (const Index k : {1, 3}) {
    std::vector<double> delays;
    for (Index i = 0; i < 10; ++i) {
      delays.push_back(static_cast<double>(std::min<Index>(10, i + k)));
    }
    EXPECT_DOUBLE_EQ(Of(delays, 10).al, static_cast<double>(k));
    EXPECT_DOUBLE_EQ(Of(delays, 10).dal, static_cast<double>(k));
  }
}

TEST(Latency, DifferentiableLaggingChargesWhatComesTooLateToLaterOutputs) {
  // g' is 1, 4, 5, 6: the second output's delay is not made up for.
  EXPECT_DOUBLE_EQ(Of({1, 4, 4, 4}, 4).dal, (1 + 3 + 3 + 3) / 4.0);
}

TEST(Latency, IsNoneWithoutEntriesOrOutputs) {
  EXPECT_FALSE(LatencyOf({}, 5, 5).has_value());
  EXPECT_FALSE(LatencyOf(std::vector<double>{0, 0}, 0, 2).has_value());
  EXPECT_TRUE(ToJson(LatencyOf({}, 5, 5)).is_null());
}

TEST(Latency, ADelayIsTheEndOfWhatIsWeightedAndNeverGoesBack) {
  // The outputs choose 2 with a chunk of two, nothing, then (end restart) 3.
  const std::vector<StepTrace> steps = {{.position = 1, .begin = 0, .end = 2},
                                        {},
                                        {.position = 2, .begin = 2, .end = 3}};
  EXPECT_EQ(DelaysOf(steps, 9), (std::vector<double>{2, 9, 9}));
}

TEST(Latency, MeansLeaveOutWhatHasNone) {
  LatencyMean some;
  some.Add(Latency{.ap = 0.5, .al = 1, .laal = 2, .dal = 3});
  some.Add(std::nullopt);
  LatencyMean more;
  EXPECT_FALSE(more.Mean().has_value());
  more.Add(Latency{.ap = 1, .al = -1, .laal = 4, .dal = 4});
  some.Add(more);
  const Latency mean = some.Mean().value();
  EXPECT_EQ(mean.ap, 0.75);
  EXPECT_EQ(mean.al, 0);
  EXPECT_EQ(mean.laal, 3);
  EXPECT_EQ(mean.dal, 3.5);
}

}  // namespace
}  // namespace attnbench
