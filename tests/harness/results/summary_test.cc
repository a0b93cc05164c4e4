#include "harness/results/summary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/stats/effects.h"

namespace attnbench {
namespace {

using Times = std::vector<double>;

ResultCell CellOf(const Times& samples, const Times& prepare,
                  const Times& draws) {
  ResultCell cell;
  cell.samples_ns = samples;
  cell.prepare_samples_ns = prepare;
  cell.draw_ns = draws;
  return cell;
}

void ExpectTime(const ResultCell& cell, const ProcessSamples& samples) {
  const Estimate time =
      Exp(EstimateOf(Logs(samples), cell.builds, CommittedEffects().time));
  EXPECT_NEAR(*cell.median_ns, time.value, 1e-9);
  EXPECT_NEAR(cell.interval_ns->low, time.interval.low, 1e-9);
  EXPECT_NEAR(cell.interval_ns->high, time.interval.high, 1e-9);
}

TEST(Summary, FollowsFromTheSamples) {
  ResultCell cell = CellOf({3, 1, 2}, {7, 9, 8}, {2, 6, 4});
  Summarize(cell);
  ExpectTime(cell, {{3, 1, 2}});
  EXPECT_NEAR(*cell.median_ns, 2, 1e-12);
  EXPECT_EQ(cell.least_ns, 1);
  EXPECT_EQ(cell.prepare_ns, 8);
  // The quartiles are 1.5 and 2.5, 3 and 5.
  EXPECT_EQ(cell.spread->rounds, 0.5);
  EXPECT_EQ(cell.spread->draws, 0.5);
  EXPECT_EQ(cell.spread->outliers, 0);
  EXPECT_FALSE(cell.spread->processes.has_value());
  EXPECT_FALSE(cell.spread->builds.has_value());
  EXPECT_FALSE(cell.spread->drift.has_value());
  EXPECT_FALSE(cell.spread->drift_p.has_value());
}

TEST(PageFaultWarnings, NameTheCellOfOursThatHadMost) {
  ResultCell cell;
  cell.mechanism = "soft";
  cell.axes["variant"] = "exact";
  std::vector<ResultCell> cells(4, cell);
  cells[1].page_faults = 16;
  EXPECT_TRUE(PageFaultWarnings(cells).empty()) << "a handful";
  cells[2].page_faults = 17;
  cells[3].page_faults = 1000;
  cells[3].mechanism = "memory";
  cells[3].point = "0123456789abcdef";
  ResultCell peers = cell;
  peers.axes["variant"] = "framework";
  peers.page_faults = 2000;
  cells.push_back(peers);
  const auto warnings = PageFaultWarnings(cells);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(warnings[0].starts_with(
      "2 of 5 cells had more than 16 page faults in a trial, memory of point "
      "0123456789abcdef most, 1000: "))
      << warnings[0];
}

TEST(BandWarnings, NameTheCellWhoseBandEndsFirst) {
  std::vector<ResultCell> cells(4);
  cells[1].band.emplace().reach = 1;
  EXPECT_TRUE(BandWarnings(cells).empty());
  cells[2].band.emplace().reach = 0.75;
  cells[3].band.emplace().reach = 0.25;
  cells[3].mechanism = "mocha";
  cells[3].point = "0123456789abcdef";
  const auto warnings = BandWarnings(cells);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(warnings[0].starts_with(
      "in 2 of 3 banded cells the band ends before the memory does, earliest "
      "in mocha at point 0123456789abcdef, after 25 % of it: "))
      << warnings[0];
}

TEST(Summary, TakesProcessesApart) {
  ResultCell cell = CellOf({1, 2, 9, 4, 5, 60, 5, 6, 7}, {7}, {1});
  cell.processes = 3;
  Summarize(cell);
  ExpectTime(cell, {{1, 2, 9}, {4, 5, 60}, {5, 6, 7}});
  EXPECT_NEAR(*cell.median_ns, std::cbrt(2.0 * 5 * 6), 1e-12);
  EXPECT_EQ(cell.spread->processes, (6.0 - 2) / 5);
  // The ratios are 4 / 2, 28 / 5 and 1 / 6.
  EXPECT_EQ(cell.spread->rounds, 2);
}

TEST(Summary, TakesBuildsApart) {
  ResultCell cell = CellOf({1, 2, 4, 8}, {7}, {1});
  cell.processes = 4;
  cell.builds = 2;
  Summarize(cell);
  ExpectTime(cell, {{1}, {2}, {4}, {8}});
  // The builds are at 2 and 4, geometric means of 1 and 4, 2 and 8.
  EXPECT_NEAR(*cell.spread->builds, std::log(2) / std::sqrt(2), 1e-12);
}

TEST(Summary, OfOneRoundHasNoInterval) {
  ResultCell cell = CellOf({5}, {7}, {1});
  Summarize(cell);
  EXPECT_NEAR(*cell.median_ns, 5, 1e-12);
  EXPECT_FALSE(cell.interval_ns.has_value());
}

TEST(Summary, TellsOutliersAndDriftAndDropsNothing) {
  ResultCell cell =
      CellOf({1, 1.1, 1.2, 1.3, 1.4, 1.5, 2, 2.1, 2.2, 50}, {7}, {1, 1});
  const Times samples = cell.samples_ns;
  Summarize(cell);
  EXPECT_EQ(cell.samples_ns, samples);
  EXPECT_EQ(cell.spread->outliers, 1);
  EXPECT_NEAR(*cell.spread->drift, 1.0, 1e-9);
  EXPECT_NEAR(*cell.spread->drift_p, 0.0809, 1e-4);
}

TEST(Summary, OfNoSamplesIsNull) {
  ResultCell cell = CellOf({}, {}, {});
  Summarize(cell);
  EXPECT_FALSE(cell.median_ns.has_value());
  EXPECT_FALSE(cell.interval_ns.has_value());
  EXPECT_FALSE(cell.prepare_ns.has_value());
  EXPECT_FALSE(cell.spread.has_value());
}

}  // namespace
}  // namespace attnbench
