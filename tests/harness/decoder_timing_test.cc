// Guards against rounds whose order follows from where a point stands.
#include "harness/decoder_timing.h"

#include <gtest/gtest.h>

#include <set>

#include "harness/schedule.h"

namespace attnbench {
namespace {

TEST(DecoderTiming, TheOrderOfRoundsFollowsFromLengthAndBeam) {
  std::set<std::uint64_t> keys;
  std::set<std::vector<std::size_t>> orders;
  for (const Index length : {1, 11, 20, 200}) {
    for (const Index beam : {1, 11}) {
      const std::uint64_t key = DecoderPointKey(length, beam);
      keys.insert(key);
      orders.insert(RoundOrder(/*seed=*/1, key, /*round=*/0, /*count=*/12));
    }
  }
  EXPECT_EQ(keys.size(), 8U);
  EXPECT_EQ(orders.size(), 8U);
}

}  // namespace
}  // namespace attnbench
