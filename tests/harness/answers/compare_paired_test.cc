// Guards against a comparison of two programs, measured in turn, that the
// machine's changes disturb, or that takes processes of one build for builds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/answers/compare.h"
#include "tests/support/made_up_results.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;
using testing::MadeUpCell;
using testing::MadeUpResult;

// Twelve processes of one round; process k takes machine[k] times as long.
std::vector<double> InTurn(double time_ns, const std::vector<double>& machine) {
  std::vector<double> samples;
  for (std::size_t k = 0; k < machine.size(); ++k) {
    samples.push_back(time_ns * machine[k] *
                      (1 + 0.0005 * static_cast<double>(k % 5)));
  }
  return samples;
}

ReadSweep ResultInTurn(const std::string& build_id,
                       const std::vector<double>& times,
                       const std::vector<double>& machine,
                       std::int64_t builds = 1) {
  std::vector<Json> cells;
  for (const double time_ns : times) {
    cells.push_back(MadeUpCell("soft", static_cast<int>(cells.size()) + 1,
                               InTurn(time_ns, machine),
                               static_cast<int>(machine.size())));
    cells.back()["builds"] = builds;
  }
  ReadSweep result = MadeUpResult(build_id + ".json", cells);
  result.result.context.build_id = build_id;
  return result;
}

const std::vector<double> kMachineOfA = {1, 1.5, 1, 2, 1, 1, 3, 1, 1, 1, 1, 1};
const std::vector<double> kMachineOfB = {2, 1, 1, 1, 1, 4, 1, 1, 1.2, 1, 1, 1};

// A run may do anything: the processes themselves show it.
CompareOptions PairedOptions() {
  CompareOptions options{.effects = testing::QuietEffects()};
  options.effects.ratio.s_run = options.effects.time.s_run = 10;
  return options;
}

TEST(ComparePaired, WhatTheMachineDoesFromProcessToProcessDropsOut) {
  const Comparison comparison = ComparePaired(
      ResultInTurn("a", {100, 200, 300}, kMachineOfA),
      ResultInTurn("b", {100, 220, 300}, kMachineOfB), PairedOptions());
  EXPECT_EQ(comparison.rows[0].verdict, "SAME");
  EXPECT_EQ(comparison.rows[1].verdict, "SLOWER");
  EXPECT_NEAR(comparison.rows[1].ratio, 1.1, 1e-9);
  EXPECT_EQ(comparison.rows[2].verdict, "SAME");
  EXPECT_TRUE(comparison.relative);
  EXPECT_GT(comparison.common_interval->high, 1);
  EXPECT_EQ(CompareExitCode(comparison), 1);
}

TEST(ComparePaired, AllTogetherMayBeSlower) {
  const Comparison slower = ComparePaired(
      ResultInTurn("a", {100, 200, 300}, kMachineOfA),
      ResultInTurn("b", {150, 300, 450}, kMachineOfA), PairedOptions());
  EXPECT_TRUE(slower.paired);
  EXPECT_EQ(slower.rows[0].verdict, "SAME");
  EXPECT_NEAR(*slower.common_ratio, 1.5, 1e-9);
  EXPECT_THAT(CompareText(slower), HasSubstr("as long as A: all of the code"));
  EXPECT_EQ(CompareExitCode(slower), 1);
  EXPECT_TRUE(testing::HasBadCase(CompareJUnit(slower)));
  // Of two runs it may be the machine.
  const Comparison apart = CompareResults(
      ResultInTurn("a", {100, 200, 300}, kMachineOfA),
      ResultInTurn("b", {150, 300, 450}, kMachineOfA), PairedOptions());
  EXPECT_FALSE(apart.paired);
  EXPECT_EQ(CompareExitCode(apart), 0);
}

TEST(ComparePaired, TheBuildCountsOnceUnlessThereAreSeveral) {
  const auto half_width = [](const std::string& b, std::int64_t builds) {
    const std::vector<double> times = {100, 200, 300};
    const Comparison comparison = ComparePaired(
        ResultInTurn("a", times, kMachineOfA, builds),
        ResultInTurn(b, times, kMachineOfB, builds), PairedOptions());
    return std::log(comparison.rows[0].interval->high);
  };
  const double expected =
      HalfWidth(testing::QuietEffects().ratio.Parts({.builds = 1}), 0.05 / 3);
  EXPECT_NEAR(half_width("b", 1), expected, 1e-9);
  EXPECT_NEAR(half_width("b", 4), 0, 1e-9);
  EXPECT_NEAR(half_width("a", 1), 0, 1e-9);
}

// The processes of builds 0 and 1 are a tenth faster and slower: as builds they
// are 2 values, which tell next to nothing, as processes 12.
TEST(ComparePaired, BuildsAreTheUnitWhereThereAreSeveral) {
  const auto width = [](std::int64_t builds) {
    std::vector<double> layout;
    for (int k = 0; k < 12; ++k) layout.push_back(k % 2 == 0 ? 0.9 : 1.1);
    ReadSweep b = ResultInTurn("a", {100, 200, 300}, kMachineOfB, builds);
    for (std::size_t k = 0; k < layout.size(); ++k) {
      b.result.cells[1].samples_ns[k] *= layout[k];
    }
    const Comparison comparison =
        ComparePaired(ResultInTurn("a", {100, 200, 300}, kMachineOfA, builds),
                      b, PairedOptions());
    const Interval interval = *comparison.rows[1].interval;
    return std::log(interval.high / interval.low);
  };
  EXPECT_GT(width(2), 5 * width(1));
}

TEST(ComparePaired, FewerThanThreeCellsAreComparedByThemselves) {
  const std::vector<double> quiet(12, 1.0);
  const Comparison comparison =
      ComparePaired(ResultInTurn("a", {100, 200}, quiet),
                    ResultInTurn("b", {130, 260}, quiet), PairedOptions());
  EXPECT_FALSE(comparison.relative);
  EXPECT_NEAR(*comparison.common_ratio, 1.3, 1e-9);
  EXPECT_EQ(comparison.rows[0].verdict, "SLOWER");
}

TEST(ComparePaired, OneProcessEachHasNoInterval) {
  const ReadSweep one = ResultInTurn("a", {100, 200, 300}, {1});
  const Comparison comparison = ComparePaired(one, one, PairedOptions());
  EXPECT_FALSE(comparison.rows[0].interval.has_value());
  EXPECT_EQ(CompareExitCode(comparison), 3);
}

}  // namespace
}  // namespace attnbench
