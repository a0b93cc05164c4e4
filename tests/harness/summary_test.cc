#include "harness/summary.h"

#include <gtest/gtest.h>

namespace attnbench {
namespace {

Json CellOf(Json samples, Json prepare, Json draws) {
  return {{"samples_ns", std::move(samples)},
          {"processes", 1},
          {"prepare_samples_ns", std::move(prepare)},
          {"draw_ns", std::move(draws)}};
}

TEST(Summary, FollowsFromTheSamples) {
  Json cell = CellOf({3, 1, 2}, {7, 9, 8}, {2, 6, 4});
  Summarize(cell);
  EXPECT_EQ(cell["median_ns"], 2);
  EXPECT_EQ(cell["interval_ns"], Json({1, 3}));
  EXPECT_EQ(cell["prepare_ns"], 8);
  EXPECT_EQ(cell["spread"]["rounds"], 1);
  EXPECT_EQ(cell["spread"]["draws"], 1);
}

TEST(Summary, OfNoSamplesIsNull) {
  Json cell = CellOf(Json::array(), Json::array(), Json::array());
  Summarize(cell);
  for (const char* key : {"median_ns", "interval_ns", "prepare_ns", "spread"}) {
    EXPECT_TRUE(cell[key].is_null()) << key;
  }
}

}  // namespace
}  // namespace attnbench
