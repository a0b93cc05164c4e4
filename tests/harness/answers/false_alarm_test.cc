// Guards against verdicts on nothing: the same code, measured twice by a
// simulated clock, must not look changed more often than the level says, over
// all cells of a table together, whatever the machine, the run and the build
// do; and against a tool that never alarms: real slow-downs are found, and
// sameness is said. 1000 comparisons, with fixed seeds; a rate of twice the
// level would be seen with 99.8 percent. Under a sanitizer there are fewer.
#include <gtest/gtest.h>

#include <boost/math/distributions/binomial.hpp>
#include <iostream>

#include "harness/answers/compare.h"
#include "harness/machine/sanitized.h"
#include "tests/support/made_up_results.h"
#include "tests/support/simulated_clock.h"

namespace attnbench {
namespace {

using testing::ClockModel;
using testing::MadeUpCell;
using testing::MadeUpResult;
using testing::SimulatedClock;
using testing::SimulatedRun;

constexpr std::uint32_t kFewTables = 200;  // for common outcomes
// For rare outcomes. A sanitizer makes tables slow and needs to see only that
// the code runs.
constexpr std::uint32_t kTables = kIsSanitized ? kFewTables : 1000;
// Of kTables. A rate of half the level has so few or fewer with less than 1
// percent.
constexpr int kTooFewAlarms = kIsSanitized ? 0 : 10;
constexpr int kMostBuilds = 20;  // of a side

struct Design {
  ClockModel clock = {};
  int cells = 10;
  int processes = 10;
  int rounds = 5;
  int builds = 1;             // of each side
  bool same_program = false;  // A and B are of the same builds
  bool is_paired = false;     // the processes of A and B are measured in turn
  double all = 1;             // how much longer all cells take in B
  double slow_down = 1;       // of cell 0 in B, beside that
  double margin = 1e-6;       // so that the interval alone must keep the level
  std::uint32_t tables = kTables;
};

struct Rates {
  int false_alarms = 0;  // tables with FASTER or SLOWER, cell 0 left out where
                         // it is slower indeed
  int found = 0;         // tables whose cell 0 is SLOWER
  int same = 0;          // unchanged cells called SAME
};

// The effects as a study of so many degrees would find them.
Effects Estimated(const SimulatedClock& clock, const Design& design,
                  std::uint32_t table) {
  int place = 0;
  const auto estimate = [&](double deviation, int degrees) {
    double squares = 0;
    for (int i = 0; i < degrees; ++i) {
      squares += std::pow(clock.Normal(table, place++), 2);
    }
    return deviation * std::sqrt(squares / degrees);
  };
  const auto effect = [&](double s_build, double s_process, double s_run) {
    return Effect{.s_build = estimate(s_build, 19),
                  .build_degrees = 19,
                  .s_process = estimate(s_process, 77),
                  .process_degrees = 77,
                  .s_run = estimate(s_run, 10),
                  .run_degrees = 10};
  };
  const ClockModel& model = design.clock;
  // A ratio is of two cells.
  return {
      .time = effect(model.build, model.process,
                     std::hypot(model.machine_of_run, model.run)),
      .ratio = effect(std::sqrt(2) * model.build, std::sqrt(2) * model.process,
                      std::sqrt(2) * model.run),
      .peer = {}};
}

ReadSweep EmptyResult(const Design& design, const std::string& build_id) {
  std::vector<Json> cells;
  for (int i = 0; i < design.cells; ++i) {
    cells.push_back(MadeUpCell("soft", i + 1, {1}));
  }
  ReadSweep result = MadeUpResult("r.json", cells);
  result.result.context.build_id = build_id;
  return result;
}

void Fill(const SimulatedClock& clock, const Design& design,
          const SimulatedRun& run, double all, double slow_down,
          ReadSweep& result) {
  std::uint32_t cell_index = 0;
  for (ResultCell& cell : result.result.cells) {
    const double time_ns = all * (cell_index == 0 ? 1000 * slow_down : 2000);
    cell.processes = design.processes;
    cell.builds = design.builds;
    cell.samples_ns = clock.SamplesNs(run, cell_index++, time_ns);
  }
}

Rates Simulate(const Design& design) {
  const SimulatedClock clock(design.clock, /*seed=*/1);
  ReadSweep a = EmptyResult(design, "a");
  ReadSweep b = EmptyResult(design, design.same_program ? "a" : "b");
  Rates rates;
  for (std::uint32_t table = 0; table < design.tables; ++table) {
    SimulatedRun run = {
        .run = 2 * table,
        .processes = design.processes,
        .rounds = design.rounds,
        .first_build = static_cast<int>(2 * table) * kMostBuilds,
        .builds = design.builds};
    Fill(clock, design, run, 1, 1, a);
    ++run.run;
    if (!design.same_program) run.first_build += kMostBuilds;
    Fill(clock, design, run, design.all, design.slow_down, b);
    const auto compare = design.is_paired ? ComparePaired : CompareResults;
    const Comparison comparison =
        compare(a, b,
                {.level = kDefaultLevel,
                 .margin = design.margin,
                 .effects = Estimated(clock, design, table)});
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
::testing::AssertionResult IsWithinLevel(const Rates& rates) {
  const int alarms = rates.false_alarms;
  const boost::math::binomial at_level(kTables, kDefaultLevel);
  const double chance = alarms == 0
                            ? 1.0
                            : boost::math::cdf(boost::math::complement(
                                  at_level, static_cast<double>(alarms - 1)));
  std::cout << alarms << " false alarms in " << kTables << " tables\n";
  return ::testing::AssertionResult(chance >= 1e-3)
         << alarms << " false alarms, the level allows " << kDefaultLevel;
}

TEST(FalseAlarms, StayWithinTheLevelWhateverTheRunDoes) {
  const Rates rates = Simulate({.same_program = true});
  EXPECT_TRUE(IsWithinLevel(rates));
  // Almost as many as allowed must occur, or the intervals are too wide.
  EXPECT_GT(rates.false_alarms, kTooFewAlarms);
}

TEST(FalseAlarms, StayWithinTheLevelForOneBuildASide) {
  EXPECT_TRUE(IsWithinLevel(Simulate({})));
}

TEST(FalseAlarms, StayWithinTheLevelForOneProcessASide) {
  EXPECT_TRUE(IsWithinLevel(Simulate({.processes = 1, .rounds = 20})));
}

TEST(FalseAlarms, StayWithinTheLevelForBuildsOfTwoSpeeds) {
  const ClockModel clock = {.build = 0.04, .two_speeds = true};
  EXPECT_TRUE(IsWithinLevel(Simulate({.clock = clock})));
  EXPECT_TRUE(IsWithinLevel(
      Simulate({.clock = clock, .processes = 20, .rounds = 2, .builds = 20})));
}

TEST(FalseAlarms, StayWithinTheLevelOfTwoCellsThatHaveNothingInCommon) {
  EXPECT_TRUE(IsWithinLevel(Simulate({.cells = 2})));
}

TEST(FalseAlarms, StayWithinTheLevelOfThreeCells) {
  EXPECT_TRUE(IsWithinLevel(Simulate({.cells = 3})));
}

TEST(FalseAlarms, StayWithinTheLevelWhereAllCellsTookLonger) {
  EXPECT_TRUE(IsWithinLevel(Simulate({.all = 1.3})));
}

// Every process has a machine of its own, and no estimate is needed of it.
constexpr ClockModel kInTurn = {
    .machine_of_run = 0, .run = 0, .machine = 0.2, .drift = 0.1};

TEST(FalseAlarms, StayWithinTheLevelOfProcessesInTurnWhateverTheMachineDoes) {
  const Rates rates = Simulate(
      {.clock = kInTurn, .rounds = 3, .same_program = true, .is_paired = true});
  EXPECT_TRUE(IsWithinLevel(rates));
  EXPECT_GT(rates.false_alarms, kTooFewAlarms);
  EXPECT_TRUE(IsWithinLevel(
      Simulate({.clock = kInTurn, .rounds = 3, .is_paired = true})));
}

TEST(FalseAlarms, SameIsSaidOfAQuietMachine) {
  const Rates rates =
      Simulate({.clock = {.run = 0.003, .build = 0.003, .process = 0.01},
                .margin = kDefaultMargin,
                .tables = kFewTables});
  EXPECT_GE(rates.same, static_cast<int>(kFewTables) * 10 * 95 / 100);
  EXPECT_EQ(rates.false_alarms, 0);
}

// What a run and a build explain is 12 percent, at the level of ten cells.
TEST(FalseAlarms, AQuarterSlowerIsFoundWhateverAllCellsDo) {
  const Rates rates = Simulate({.all = 1.3,
                                .slow_down = 1.25,
                                .margin = kDefaultMargin,
                                .tables = kFewTables});
  EXPECT_GE(rates.found, static_cast<int>(kFewTables) * 95 / 100);
}

TEST(FalseAlarms, ManyBuildsInTurnFindAnEighth) {
  const Rates rates = Simulate({.clock = kInTurn,
                                .processes = 20,
                                .rounds = 3,
                                .builds = 20,
                                .is_paired = true,
                                .slow_down = 1.125,
                                .margin = kDefaultMargin,
                                .tables = kFewTables});
  EXPECT_GE(rates.found, static_cast<int>(kFewTables) * 95 / 100);
  EXPECT_EQ(rates.false_alarms, 0);
}

}  // namespace
}  // namespace attnbench
