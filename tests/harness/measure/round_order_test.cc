// Guards against cells that are always timed in the same order, or an order
// that cannot be had again.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "harness/measure/point_runner.h"

namespace attnbench {
namespace {

using ::testing::UnorderedElementsAre;

TEST(RoundOrder, HasEveryCellOnce) {
  EXPECT_TRUE(RoundOrder(1, 0, 0, 0).empty());
  EXPECT_THAT(RoundOrder(1, 0, 0, 1), UnorderedElementsAre(0));
  EXPECT_THAT(RoundOrder(1, 2, 3, 5), UnorderedElementsAre(0, 1, 2, 3, 4));
}

TEST(RoundOrder, IsTheSameAgainAndDiffersWithEveryArgument) {
  const auto order = RoundOrder(1, 2, 3, 40);
  EXPECT_EQ(order, RoundOrder(1, 2, 3, 40));
  EXPECT_NE(order, RoundOrder(2, 2, 3, 40));
  EXPECT_NE(order, RoundOrder(1, 3, 3, 40));
  EXPECT_NE(order, RoundOrder(1, 2, 4, 40));
}

TEST(RoundOrder, TakesEveryOrderAboutEquallyOften) {
  std::map<std::vector<std::size_t>, int> times;
  for (int round = 0; round < 6000; ++round)
    ++times[RoundOrder(1, 0, round, 3)];
  ASSERT_EQ(times.size(), 6U);
  // The bounds are seven standard deviations around 1000. The seed is fixed, so
  // this either always holds or never.
  for (const auto& [order, count] : times) EXPECT_NEAR(count, 1000, 200);
}

}  // namespace
}  // namespace attnbench
