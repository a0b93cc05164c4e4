// Guards against intervals that are off by one rank: they look plausible and
// cover too little or too much.
#include "harness/statistics.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

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

// Ranks from tables of the sign test at 95 percent.
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

}  // namespace
}  // namespace attnbench
