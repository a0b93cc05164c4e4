// Guards against an estimate that leaves out rounds, trials, processes, skipped
// cells or long trials, that does not learn, that needs the memory of what it
// estimates, or that measures what takes as long as the sweep.
#include "harness/campaign/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attnbench {
namespace {

Sweep SweepOf(const std::map<std::string, std::vector<AxisValue>>& axes,
              const std::string& mechanism = "") {
  SweepRequest request;
  request.axes = axes;
  if (!mechanism.empty()) request.alternatives = {{mechanism, {}, {}}};
  return ExpandSweep(request);
}

Sweep Small() { return SweepOf({{"memory_length", {4}}, {"dim", {4}}}); }

double SecondsOf(const Sweep& sweep) {
  return TimeEstimate(sweep).TotalSeconds();
}

// A measurement of the sweep's only cell, with another number of outputs.
std::vector<ResultCell> Measured(const Sweep& sweep, double trial_ns,
                                 std::int64_t outputs) {
  ResultCell cell = FailedCell(sweep.points[0].cells[0], CellStatus::kOk, "");
  cell.axes["output_length"] = outputs;
  cell.samples_ns = {9 * trial_ns, trial_ns, 2 * trial_ns};
  return {cell};
}

TEST(Estimate, ShortTrialsTakeTheirRounds) {
  Sweep sweep = Small();
  const auto cells = static_cast<double>(sweep.points[0].cells.size());
  sweep.repetitions = 10;
  const double ten = SecondsOf(sweep);
  sweep.repetitions = 1010;
  // A sample of a short trial is a millisecond.
  EXPECT_NEAR(SecondsOf(sweep) - ten, 1000 * cells * 1e-3, 1e-9);
  EXPECT_GT(ten, cells * 10 * 1e-3);
}

TEST(Estimate, PointsAndProcessesAddUpToTheWhole) {
  Sweep sweep = SweepOf({{"memory_length", {4, 4000}}});
  sweep.processes = 3;
  const TimeEstimate estimate(sweep);
  EXPECT_GT(estimate.PointSeconds(1), 4 * estimate.PointSeconds(0));
  EXPECT_NEAR(estimate.TotalSeconds(),
              3 * 0.1 + estimate.PointSeconds(0) + estimate.PointSeconds(1),
              1e-9);
  EXPECT_DOUBLE_EQ(
      estimate.PointSeconds(1),
      estimate.StepSeconds(1, true) + 2 * estimate.StepSeconds(1, false));
  EXPECT_GT(estimate.StepSeconds(1, true), estimate.StepSeconds(1, false));
}

TEST(Estimate, MoreTrialsThanFitASampleTakeLonger) {
  Sweep sweep = SweepOf({{"memory_length", {500}}});
  const double before = SecondsOf(sweep);
  sweep.trials = 100'000;
  EXPECT_GT(SecondsOf(sweep), 10 * before);
}

TEST(Estimate, SkippedCellsTakeNoTime) {
  Sweep sweep = SweepOf({{"threads", {2}}, {"memory_length", {4}}});
  SkipThreadsBeyond(1, sweep);
  EXPECT_EQ(TimeEstimate(sweep).PointSeconds(0), 0);
}

TEST(Estimate, EveryModeAndHugeLengthsHaveAFiniteOne) {
  const Sweep sweep = SweepOf({{"memory_length", {1, std::int64_t{1} << 40}},
                               {"output_length", {1, std::int64_t{1} << 40}},
                               {"chunk_width", {1, "inf"}},
                               {"mode", {"decode", "expect", "gradient"}},
                               {"scope", {"full", "attention"}},
                               {"workload", {"uniform", "planted"}}});
  const TimeEstimate estimate(sweep);
  for (std::size_t point = 0; point < sweep.points.size(); ++point) {
    EXPECT_TRUE(std::isfinite(estimate.PointSeconds(point)));
    EXPECT_GT(estimate.PointSeconds(point), 0);
  }
}

TEST(Estimate, ALongTrialTakesAsMuchMoreAsItReadsMore) {
  Sweep sweep = SweepOf({{"memory_length", {2000}}}, "soft");
  const auto rounds = [&sweep](const TimeEstimate& estimate) {
    sweep.repetitions += 100;
    TimeEstimate more(sweep);
    more.Learn(Measured(sweep, 3e6, 64));
    return more.TotalSeconds() - estimate.TotalSeconds();
  };
  TimeEstimate estimate(sweep);
  EXPECT_EQ(estimate.NumUnknown(), 1U);
  EXPECT_TRUE(estimate.Learn(Measured(sweep, 3e6, 64)));
  EXPECT_EQ(estimate.NumUnknown(), 0U);
  EXPECT_NEAR(rounds(estimate), 100 * 3e-3 * 2000 / 64, 1e-6);
}

TEST(Estimate, LearnsFromLargerTrialsOfItsKindAlone) {
  const Sweep sweep = SweepOf({{"memory_length", {2000}}}, "soft");
  TimeEstimate estimate(sweep);
  EXPECT_TRUE(estimate.Learn(Measured(sweep, 3e6, 64)));
  const double before = estimate.TotalSeconds();
  EXPECT_FALSE(estimate.Learn(Measured(sweep, 9e9, 65)));
  EXPECT_FALSE(estimate.Learn(Measured(sweep, 9e9, 32)));
  EXPECT_EQ(estimate.TotalSeconds(), before);
  EXPECT_TRUE(estimate.Learn(Measured(sweep, 12e6, 128)));
  EXPECT_GT(estimate.TotalSeconds(), 1.9 * before);
  auto failed = Measured(sweep, 1, 2000);
  failed[0].status = CellStatus::kError;
  EXPECT_FALSE(estimate.Learn(failed));
  auto of_other = Measured(sweep, 9e9, 2000);
  of_other[0].axes["dim"] = 3;
  const double after = estimate.TotalSeconds();
  estimate.Learn(of_other);
  EXPECT_EQ(estimate.TotalSeconds(), after);
}

// The lengths of all probes, in pairs.
std::vector<std::pair<std::int64_t, std::int64_t>> ProbedLengths(
    const Sweep& sweep) {
  std::vector<std::pair<std::int64_t, std::int64_t>> lengths;
  for (const Point& point : ProbesOf(sweep).points) {
    for (const Cell& cell : point.cells) {
      EXPECT_EQ(point.axes.at("memory_length"), cell.axes.at("memory_length"));
      lengths.emplace_back(cell.Int("memory_length"),
                           cell.Int("output_length"));
    }
  }
  return lengths;
}
using Lengths = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST(Probes, ThereAreNoneOfShortTrials) {
  EXPECT_TRUE(ProbesOf(Small()).points.empty());
}

TEST(Probes, TheLargestOfAKindIsProbedWithFewOutputsOfTheSameMemory) {
  EXPECT_EQ(ProbedLengths(SweepOf({{"memory_length", {2000, 1000}},
                                   {"output_length", {1500, 2000}},
                                   {"workload", {"uniform", "planted"}}},
                                  "soft")),
            (Lengths{{2000, 64}}));
  EXPECT_EQ(ProbedLengths(SweepOf({{"memory_length", {20000}},
                                   {"output_length", {2}},
                                   {"mode", {"gradient"}}},
                                  "soft")),
            (Lengths{{20000, 2}}));
}

TEST(Probes, AScanIsProbedWithAsManyEntriesAnOutput) {
  EXPECT_EQ(ProbedLengths(SweepOf({{"memory_length", {20000}},
                                   {"output_length", {5000}},
                                   {"workload", {"planted"}}},
                                  "monotonic")),
            (Lengths{{256, 64}}));
}

TEST(Probes, SkippedCellsHaveNone) {
  Sweep sweep = SweepOf({{"threads", {2}}, {"memory_length", {2000}}});
  SkipThreadsBeyond(1, sweep);
  EXPECT_TRUE(ProbesOf(sweep).points.empty());
}

TEST(Probes, WholeDecodersTranslateOneShortSource) {
  const Sweep sweep = SweepOf({{"scope", {"decoder"}},
                               {"workload", {"copy:1"}},
                               {"energy", {"additive"}},
                               {"memory_length", {100, 200}},
                               {"batch", {80}}},
                              "soft");
  EXPECT_EQ(ProbedLengths(sweep), (Lengths{{64, 64}}));
  EXPECT_EQ(ProbesOf(sweep).points[0].cells[0].Int("batch"), 1);
}

TEST(Estimate, DurationsAreRoundedUp) {
  for (const auto& [seconds, text] : {std::pair(0.2, "1 s"),
                                      {59.0, "59 s"},
                                      {59.5, "1 min"},
                                      {61.0, "2 min"},
                                      {3600.0, "1 h 0 min"},
                                      {7500.0, "2 h 5 min"}}) {
    EXPECT_EQ(DurationText(seconds), text) << seconds;
  }
}

}  // namespace
}  // namespace attnbench
