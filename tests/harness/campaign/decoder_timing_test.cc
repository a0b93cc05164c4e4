// Guards against rounds whose order follows from where a point stands.
#include "harness/campaign/decoder_timing.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "harness/measure/round_order.h"

namespace attnbench {
namespace {

TEST(DecoderTiming, TheOrderOfRoundsFollowsFromWhatThePointIs) {
  std::set<std::uint64_t> keys;
  std::set<std::vector<std::size_t>> orders;
  const std::vector<DecoderSetting> settings = {
      {.units = 8, .length = 1, .beam = 1},
      {.units = 8, .length = 11, .beam = 1},
      {.units = 8, .length = 20, .beam = 1},
      {.units = 8, .length = 1, .beam = 11},
      {.units = 8, .length = 11, .beam = 11},
      {.units = 81, .length = 1, .beam = 1},
      {.units = 8, .memory_share = 0.5, .length = 1, .beam = 1},
  };
  for (const DecoderSetting& setting : settings) {
    const std::uint64_t key = DecoderPointKey(setting);
    keys.insert(key);
    orders.insert(RoundOrder(/*seed=*/1, key, /*round=*/0, /*count=*/12));
  }
  EXPECT_EQ(keys.size(), settings.size());
  EXPECT_EQ(orders.size(), settings.size());
}

}  // namespace
}  // namespace attnbench
