// Guards against ratios to another cell than full attention's, and against
// figures of cells that have no times.
#include "harness/measure/decoder_ratios.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attnbench {
namespace {

Json CellOf(const std::string& mechanism, const std::vector<double>& samples,
            int processes = 1) {
  return {{"mechanism", mechanism},
          {"samples_ns", samples},
          {"processes", processes}};
}

TEST(DecoderRatios, AreOfTheRoundsOfOneAnother) {
  // Round by round half; their medians tell nothing of it.
  std::vector<Json> cells = {CellOf("none", {5, 50, 500, 2, 20, 200, 7}),
                             CellOf("soft", {10, 100, 1000, 4, 40, 400, 14}),
                             CellOf("soft", {1, 1, 1, 1, 1, 1, 1}),
                             CellOf("memory", {})};
  AddRatiosToSoft(cells);
  EXPECT_NEAR(cells[0]["ratio_to_soft"]["value"].get<double>(), 0.5, 1e-12);
  EXPECT_NEAR(cells[0]["ratio_to_soft"]["interval"][0].get<double>(), 0.5,
              1e-12);
  EXPECT_NEAR(cells[0]["ratio_to_soft"]["interval"][1].get<double>(), 0.5,
              1e-12);
  EXPECT_EQ(cells[1]["ratio_to_soft"]["value"], 1);
  EXPECT_TRUE(cells[3]["ratio_to_soft"].is_null());
}

TEST(DecoderRatios, AreNullWithoutFullAttentionAndHaveNoIntervalOfOneRound) {
  std::vector<Json> cells = {CellOf("memory", {3, 4})};
  AddRatiosToSoft(cells);
  EXPECT_TRUE(cells[0]["ratio_to_soft"].is_null());
  cells = {CellOf("memory", {3}), CellOf("soft", {6})};
  AddRatiosToSoft(cells);
  EXPECT_NEAR(cells[0]["ratio_to_soft"]["value"].get<double>(), 0.5, 1e-12);
  EXPECT_TRUE(cells[0]["ratio_to_soft"]["interval"].is_null());
}

// Process by process half; rounds of different processes are no pairs.
TEST(DecoderRatios, OfSeveralProcessesAreOverThese) {
  std::vector<Json> cells = {CellOf("none", {4, 5, 6, 40, 50, 60}, 2),
                             CellOf("soft", {8, 10, 12, 80, 100, 120}, 2)};
  AddRatiosToSoft(cells);
  EXPECT_NEAR(cells[0]["ratio_to_soft"]["interval"][1].get<double>(), 0.5,
              1e-12);
  cells[0]["samples_ns"] = {4, 5, 6, 80, 100, 120};
  AddRatiosToSoft(cells);
  // Two processes that differ by a factor of two tell nearly nothing.
  EXPECT_GT(cells[0]["ratio_to_soft"]["interval"][1].get<double>(), 10);
}

TEST(DecoderRatios, SamplesAreSummarisedByTheirMedian) {
  Json cell = {{"attention_samples_ns", {3.0, 1.0, 100.0}}, {"processes", 1}};
  SummarizeSamples("attention_", cell);
  EXPECT_EQ(cell["attention_median_ns"], 3.0);
  EXPECT_EQ(cell["attention_interval_ns"], Json({1.0, 100.0}));
  cell = {{"samples_ns", Json::array()}};
  SummarizeSamples("", cell);
  EXPECT_TRUE(cell["median_ns"].is_null());
}

}  // namespace
}  // namespace attnbench
