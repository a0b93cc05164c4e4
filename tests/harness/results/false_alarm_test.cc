// Guards against verdicts on nothing: the same code, measured twice by a
// simulated clock, must not look changed more often than the level says, over
// all cells of a table together; and against a tool that never alarms: real
// slow-downs are found, and sameness is said. 1000 comparisons of 10 cells,
// with fixed seeds; a rate of twice the level would be seen with 99.8 percent.
#include <gtest/gtest.h>

#include <boost/math/distributions/binomial.hpp>
#include <iostream>

#include "harness/results/compare.h"
#include "tests/support/made_up_results.h"
#include "tests/support/simulated_clock.h"

namespace attnbench {
namespace {

using testing::ClockModel;
using testing::Layout;
using testing::MadeUpCell;
using testing::MadeUpResult;
using testing::SimulatedClock;

constexpr int kTables = 1000;    // for rare outcomes
constexpr int kFewTables = 200;  // for common outcomes
constexpr int kCells = 10;

struct Design {
  ClockModel clock = {};
  int processes = 10;
  int rounds = 5;
  double slow_down = 1;  // of cell 0
  double margin = kDefaultMargin;
  std::uint32_t tables = kTables;
};

struct Rates {
  int false_alarms = 0;  // tables with FASTER or SLOWER, cell 0 left out where
                         // it is slower indeed
  int found = 0;         // tables whose cell 0 is SLOWER
  int same = 0;          // unchanged cells called SAME
};

// The result is made once: only samples differ from run to run.
const ReadSweep& Empty() {
  static const ReadSweep result = [] {
    std::vector<Json> cells;
    for (int i = 0; i < kCells; ++i) {
      cells.push_back(MadeUpCell("soft", i + 1, {1}));
    }
    return MadeUpResult("r.json", cells);
  }();
  return result;
}

ReadSweep Run(const SimulatedClock& clock, const Design& design,
              std::uint32_t run, double slow_down) {
  ReadSweep result = Empty();
  std::uint32_t cell_index = 0;
  for (ResultCell& cell : result.result.cells) {
    const double time_ns = cell_index == 0 ? 1000 * slow_down : 2000;
    cell.processes = design.processes;
    cell.samples_ns = clock.SamplesNs(run, cell_index++, time_ns,
                                      design.processes, design.rounds);
  }
  return result;
}

Rates Simulate(const Design& design) {
  const SimulatedClock clock(design.clock, /*seed=*/1);
  Rates rates;
  for (std::uint32_t table = 0; table < design.tables; ++table) {
    const Comparison comparison =
        CompareResults(Run(clock, design, 2 * table, 1),
                       Run(clock, design, 2 * table + 1, design.slow_down),
                       {.level = kDefaultLevel, .margin = design.margin});
    bool is_alarm = false;
    for (const ComparedTime& row : comparison.rows) {
      const std::string& verdict = row.verdict;
      const bool is_slower_cell =
          design.slow_down != 1 && row.axes.at("memory_length") == 1;
      rates.same += verdict == "SAME" ? 1 : 0;
      if (is_slower_cell) {
        rates.found += verdict == "SLOWER" ? 1 : 0;
      } else {
        is_alarm = is_alarm || verdict == "FASTER" || verdict == "SLOWER";
      }
    }
    rates.false_alarms += is_alarm ? 1 : 0;
  }
  return rates;
}

// Whether the level explains so many alarms: the chance of as many or more is
// not below 1e-3.
::testing::AssertionResult IsWithinLevel(int alarms) {
  const boost::math::binomial at_level(kTables, kDefaultLevel);
  const double chance = alarms == 0
                            ? 1.0
                            : boost::math::cdf(boost::math::complement(
                                  at_level, static_cast<double>(alarms - 1)));
  std::cout << alarms << " false alarms in " << kTables << " tables\n";
  return ::testing::AssertionResult(chance >= 1e-3)
         << alarms << " false alarms, the level allows " << kDefaultLevel;
}

// With a margin of almost nothing the interval alone must keep the level.
constexpr double kNoMargin = 1e-6;

TEST(FalseAlarms, StayWithinTheLevelForTenProcesses) {
  const Rates rates = Simulate({.margin = kNoMargin});
  EXPECT_TRUE(IsWithinLevel(rates.false_alarms));
  // Almost as many as allowed must occur, or the intervals are too wide.
  EXPECT_GT(rates.false_alarms, 10);
}

TEST(FalseAlarms, StayWithinTheLevelForFiveProcessesOfTwoSpeeds) {
  EXPECT_TRUE(
      IsWithinLevel(Simulate({.clock = {.kind = Layout::kTwo, .layout = 0.04},
                              .processes = 5,
                              .margin = kNoMargin})
                        .false_alarms));
}

TEST(FalseAlarms, StayWithinTheLevelForFewProcesses) {
  // Any two layouts are within a factor of 1.18 of each other.
  const ClockModel clock = {.kind = Layout::kBounded,
                            .layout = std::log(kLayoutFactor) / 2};
  for (const int processes : {1, 2}) {
    EXPECT_TRUE(IsWithinLevel(Simulate({.clock = clock,
                                        .processes = processes,
                                        .rounds = 12,
                                        .margin = kNoMargin})
                                  .false_alarms))
        << processes << " processes";
  }
}

TEST(FalseAlarms, SameIsSaidOfAQuietMachine) {
  const Rates rates =
      Simulate({.clock = {.layout = 0.01}, .tables = kFewTables});
  EXPECT_GE(rates.same, kFewTables * kCells * 95 / 100);
  EXPECT_EQ(rates.false_alarms, 0);
}

TEST(FalseAlarms, ATenthSlowerIsFound) {
  const Rates rates = Simulate({.slow_down = 1.1, .tables = kFewTables});
  EXPECT_GE(rates.found, kFewTables * 95 / 100);
  EXPECT_EQ(rates.false_alarms, 0);  // the margin keeps the others out
}

TEST(FalseAlarms, OneProcessStillShowsWhatLayoutCannotDo) {
  const Rates rates = Simulate(
      {.processes = 1, .rounds = 20, .slow_down = 1.5, .tables = kFewTables});
  EXPECT_GE(rates.found, kFewTables * 95 / 100);
  EXPECT_EQ(rates.same, 0);
}

}  // namespace
}  // namespace attnbench
