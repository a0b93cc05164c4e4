// Guards against rounds that the machine disturbed and that are kept, or whose
// repetition is worse or in another order; against processes that all begin
// with the same orders; and against samples that leave out draws.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "harness/measure/point_runner.h"

namespace attnbench {
namespace {

RunOptions FourRounds() {
  return {.seed = 1, .repetitions = 4, .trials = 1, .epoch_ns = 1e4};
}

// Each sample is the number of rounds that were timed before it.
class CountingRun : public CellRun {
 public:
  void Check() override {}
  void TimeRound(int round) override {
    SetSample(round, static_cast<double>(rounds_.size()), samples_ns_);
    rounds_.push_back(round);
  }
  void MeasureDraws() override {}
  ResultCell Result() const override { return {}; }
  const std::vector<int>& rounds() const { return rounds_; }
  const std::vector<double>& samples_ns() const { return samples_ns_; }

 private:
  std::vector<int> rounds_;
  std::vector<double> samples_ns_;
};

std::vector<std::unique_ptr<CellRun>> CountingRuns(std::size_t count) {
  std::vector<std::unique_ptr<CellRun>> runs;
  for (std::size_t n = 0; n < count; ++n) {
    runs.push_back(std::make_unique<CountingRun>());
  }
  return runs;
}

// The cells in the order in which their steps begin.
std::vector<std::size_t> OrderOfSteps(std::size_t num_cells,
                                      const RunOptions& options) {
  std::vector<std::size_t> cells;
  RunCells(CountingRuns(num_cells), 0, options,
           [&](std::size_t index, double) { cells.push_back(index); });
  return cells;
}

TEST(Rounds, HaveOrdersThatAreCountedThroughAllProcesses) {
  constexpr std::size_t kCells = 6;
  const auto order_from = [](int first_round) {
    RunOptions options = FourRounds();
    options.first_round = first_round;
    const auto cells = OrderOfSteps(kCells, options);
    // Checks come first, and each draw alone last.
    return std::vector<std::size_t>(cells.begin() + kCells,
                                    cells.end() - kCells);
  };
  const auto first = order_from(0);
  const auto other = order_from(2);
  ASSERT_EQ(first.size(), 4 * kCells);
  EXPECT_TRUE(
      std::equal(first.begin() + 2 * kCells, first.end(), other.begin()));
  EXPECT_NE(first, other);
}

// What comes of rounds whose probe gives these times, one after another.
struct Timed {
  std::vector<int> rounds;             // in which they were timed
  std::vector<double> samples_ns;      // of the cell
  std::vector<double> probes_ns = {};  // of the rounds that were kept
  std::int64_t again = 0;
  std::size_t num_probes_left = 0;
};

Timed RunWith(std::vector<double> probes_ns, int repetitions) {
  auto next = probes_ns.begin();
  Probing probing{.probe = [&] {
    EXPECT_NE(next, probes_ns.end());
    return ProbeTimes{{"chain", 10}, {"L2", *next++}};
  }};
  RunOptions options = FourRounds();
  options.repetitions = repetitions;
  options.probing = &probing;
  const auto runs = CountingRuns(1);
  RunCells(runs, 0, options,
           [](std::size_t, double share) { EXPECT_LE(share, 1); });
  const auto& run = static_cast<const CountingRun&>(*runs[0]);
  Timed timed{.rounds = run.rounds(),
              .samples_ns = run.samples_ns(),
              .again = probing.rounds.again};
  for (const ProbeTimes& times : probing.rounds.times) {
    timed.probes_ns.push_back(times.at("L2"));
  }
  timed.num_probes_left = static_cast<std::size_t>(probes_ns.end() - next);
  return timed;
}

TEST(Strays, ARoundThatStraysIsTimedAgainAtTheEndAndReplaced) {
  const Timed timed = RunWith({10, 20, 10, 13, 10}, 4);
  EXPECT_EQ(timed.rounds, (std::vector<int>{0, 1, 2, 3, 1}))
      << "13 is no more than 1.3 times the median of 11.5";
  EXPECT_EQ(timed.samples_ns, (std::vector<double>{0, 4, 2, 3}));
  EXPECT_EQ(timed.probes_ns, (std::vector<double>{10, 10, 10, 13}));
  EXPECT_EQ(timed.again, 1);
}

TEST(Strays, ARoundThatStraysLessIsTakenAndNotTriedOnceMore) {
  const Timed timed = RunWith({10, 20, 10, 10, 19, 10}, 4);
  EXPECT_EQ(timed.samples_ns, (std::vector<double>{0, 4, 2, 3}));
  EXPECT_EQ(timed.probes_ns, (std::vector<double>{10, 19, 10, 10}));
  EXPECT_EQ(timed.num_probes_left, 1U);
}

TEST(Strays, ARoundThatWouldStrayNoLessIsLeftAsItWas) {
  const Timed timed = RunWith({10, 20, 10, 10, 20}, 4);
  EXPECT_EQ(timed.samples_ns, (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(timed.probes_ns, (std::vector<double>{10, 20, 10, 10}));
  EXPECT_EQ(timed.again, 0);
}

TEST(Strays, NoMoreThanHalfOfTheRoundsAreTried) {
  Probing probing;
  int call = 0;
  // In each of the first five rounds another probe strays.
  probing.probe = [&call] {
    ProbeTimes times;
    for (int name = 0; name < 5; ++name) {
      times[std::to_string(name)] = name == call ? 20 : 10;
    }
    ++call;
    return times;
  };
  RunOptions options = FourRounds();
  options.repetitions = 6;
  options.probing = &probing;
  const auto runs = CountingRuns(1);
  RunCells(runs, 0, options, [](std::size_t, double) {});
  EXPECT_EQ(static_cast<const CountingRun&>(*runs[0]).rounds(),
            (std::vector<int>{0, 1, 2, 3, 4, 5, 0, 1, 2}));
}

TEST(Strays, ARoundHasItsOwnOrderAgain) {
  constexpr std::size_t kCells = 6;
  std::vector<double> probes_ns = {10, 20, 10, 10, 10};
  auto next = probes_ns.begin();
  Probing probing{.probe = [&] { return ProbeTimes{{"chain", *next++}}; }};
  RunOptions options = FourRounds();
  options.probing = &probing;
  const auto cells = OrderOfSteps(kCells, options);
  // Checks come first, then four rounds.
  const auto second = cells.begin() + 2 * kCells;
  const auto again = cells.begin() + 5 * kCells;
  ASSERT_GE(cells.size(), 6 * kCells);
  EXPECT_TRUE(std::equal(second, second + kCells, again));
}

TEST(DrawsOfSample, AreAllOrInASampleOfOneTrialTheOneOfTheRound) {
  const std::vector<int> draws = {0, 1, 2, 3};
  EXPECT_EQ(DrawsOfSample(draws, 4, 2).size(), 4U);
  for (const int round : {0, 3, 5, 42}) {
    const auto of_one = DrawsOfSample(draws, 1, round);
    ASSERT_EQ(of_one.size(), 1U);
    EXPECT_EQ(of_one[0], round % 4);
  }
}

TEST(WholeTurns, HaveEachDrawEquallyOften) {
  EXPECT_EQ(WholeTurns(1, 4), 1);
  EXPECT_EQ(WholeTurns(2, 4), 4);
  EXPECT_EQ(WholeTurns(1, 1), 1);
  EXPECT_EQ(WholeTurns(3, 1), 3);
  EXPECT_EQ(WholeTurns(4, 4), 4);
  EXPECT_EQ(WholeTurns(9, 4), 12);
}

}  // namespace
}  // namespace attnbench
