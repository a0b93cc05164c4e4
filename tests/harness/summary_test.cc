#include "harness/summary.h"

#include <gtest/gtest.h>

#include <cmath>

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
  // Quartiles 1.5 and 2.5, 3 and 5.
  EXPECT_EQ(cell["spread"]["rounds"], 0.5);
  EXPECT_EQ(cell["spread"]["draws"], 0.5);
  EXPECT_EQ(cell["spread"]["outliers"], 0);
  for (const char* key : {"processes", "drift", "drift_p"}) {
    EXPECT_TRUE(cell["spread"][key].is_null()) << key;
  }
}

TEST(Summary, TakesProcessesApart) {
  Json cell = CellOf({1, 2, 9, 4, 5, 60, 5, 6, 7}, {7}, {1});
  cell["processes"] = 3;
  Summarize(cell);
  EXPECT_EQ(cell["median_ns"], 5);  // of 2, 5, 6
  EXPECT_EQ(cell["spread"]["processes"], (6.0 - 2) / 5);
  // Of 4 / 2, 28 / 5, 1 / 6.
  EXPECT_EQ(cell["spread"]["rounds"], 2);
  // Student's interval of ln 2, ln 5, ln 6.
  const double mean = std::log(60.0) / 3;
  const double deviation = std::sqrt((std::pow(std::log(2.0) - mean, 2) +
                                      std::pow(std::log(5.0) - mean, 2) +
                                      std::pow(std::log(6.0) - mean, 2)) /
                                     2);
  EXPECT_NEAR(cell["interval_ns"][1].get<double>(),
              std::exp(mean + 4.30265 * deviation / std::sqrt(3)), 1e-3);
}

TEST(Summary, TellsOutliersAndDriftAndDropsNothing) {
  Json cell =
      CellOf({1, 1.1, 1.2, 1.3, 1.4, 1.5, 2, 2.1, 2.2, 50}, {7}, {1, 1});
  const Json samples = cell["samples_ns"];
  Summarize(cell);
  EXPECT_EQ(cell["samples_ns"], samples);
  EXPECT_EQ(cell["spread"]["outliers"], 1);
  EXPECT_NEAR(cell["spread"]["drift"].get<double>(), 1.0, 1e-9);
  EXPECT_NEAR(cell["spread"]["drift_p"].get<double>(), 0.0809, 1e-4);
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
