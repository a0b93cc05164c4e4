// Guards against an estimate that leaves out rounds, trials, skipped cells or
// long trials, that needs the memory of what it estimates, or that measures
// what takes as long as the sweep.
#include "harness/campaign/estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace attnbench {
namespace {

Sweep SweepOf(const std::map<std::string, std::vector<AxisValue>>& axes,
              const std::string& mechanism = "") {
  SweepRequest request;
  request.axes = axes;
  if (!mechanism.empty()) request.alternatives = {{mechanism, {}, {}}};
  return ExpandSweep(request);
}

const double kPreparationOfARound = 0.25e-3;
const double kProbesOfARound = 0.25e-3;
const double kBesideARound = kPreparationOfARound + kProbesOfARound;

Sweep Small() { return SweepOf({{"memory_length", {4}}, {"dim", {4}}}); }

TEST(Estimate, ShortTrialsTakeTheirRounds) {
  Sweep sweep = Small();
  const auto cells = static_cast<double>(sweep.points[0].cells.size());
  sweep.repetitions = 10;
  const double ten = EstimateTime(sweep).total_s();
  sweep.repetitions = 1010;
  // A sample of a short trial is a millisecond, and a quarter of one that of
  // the preparation.
  EXPECT_NEAR(EstimateTime(sweep).total_s() - ten,
              1000 * (cells * 1.25e-3 + kProbesOfARound), 1e-9);
  EXPECT_GT(ten, cells * 10 * 1e-3);
}

TEST(Estimate, PointsAddUpToTheWhole) {
  const Sweep sweep = SweepOf({{"memory_length", {4, 4000}}});
  const TimeEstimate estimate = EstimateTime(sweep);
  ASSERT_EQ(estimate.point_s.size(), 2U);
  EXPECT_GT(estimate.point_s[1], 4 * estimate.point_s[0]);
  EXPECT_DOUBLE_EQ(estimate.total_s(), estimate.start_s + estimate.point_s[0] +
                                           estimate.point_s[1]);
}

TEST(Estimate, MoreTrialsThanFitASampleTakeLonger) {
  Sweep sweep = SweepOf({{"memory_length", {500}}});
  const double before = EstimateTime(sweep).total_s();
  sweep.trials = 100'000;
  EXPECT_GT(EstimateTime(sweep).total_s(), 10 * before);
}

TEST(Estimate, SkippedCellsTakeNoTime) {
  Sweep sweep = SweepOf({{"threads", {2}}, {"memory_length", {4}}});
  SkipThreadsBeyond(1, sweep);
  EXPECT_EQ(EstimateTime(sweep).total_s(), 0);
}

TEST(Estimate, EveryModeAndHugeLengthsHaveAFiniteOne) {
  const Sweep sweep = SweepOf({{"memory_length", {1, std::int64_t{1} << 40}},
                               {"output_length", {1, std::int64_t{1} << 40}},
                               {"chunk_width", {1, "inf"}},
                               {"mode", {"decode", "expect", "gradient"}},
                               {"scope", {"full", "attention"}},
                               {"workload", {"uniform", "planted"}}});
  for (const double seconds : EstimateTime(sweep).point_s) {
    EXPECT_TRUE(std::isfinite(seconds));
    EXPECT_GT(seconds, 0);
  }
}

// The only axes by which the probes of a cell differ from it, in pairs.
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

TEST(Probes, ALongTrialIsProbedWithFewOutputsOfTheSameMemory) {
  EXPECT_EQ(ProbedLengths(SweepOf({{"memory_length", {2000}}}, "soft")),
            (Lengths{{2000, 16}, {2000, 64}}));
  EXPECT_EQ(ProbedLengths(SweepOf({{"memory_length", {20000}},
                                   {"output_length", {2}},
                                   {"workload", {"planted"}},
                                   {"mode", {"gradient"}}},
                                  "soft")),
            (Lengths{{20000, 1}, {20000, 2}}));
}

TEST(Probes, AScanIsProbedWithAsManyEntriesAnOutput) {
  EXPECT_EQ(ProbedLengths(SweepOf({{"memory_length", {20000}},
                                   {"output_length", {5000}},
                                   {"workload", {"planted"}}},
                                  "monotonic")),
            (Lengths{{256, 64}, {1024, 256}}));
}

TEST(Probes, CellsThatHaveTheSameOnesShareThem) {
  const Sweep sweep = SweepOf({{"memory_length", {2000}},
                               {"output_length", {1500, 2000}},
                               {"workload", {"uniform", "planted"}}},
                              "soft");
  EXPECT_EQ(ProbedLengths(sweep), (Lengths{{2000, 16}, {2000, 64}}));
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
                               {"batch", {8}}},
                              "soft");
  EXPECT_EQ(ProbedLengths(sweep), (Lengths{{16, 16}}));
  EXPECT_EQ(ProbesOf(sweep).points[0].cells[0].Int("batch"), 1);
}

// Made-up measurements of the probes of a sweep.
std::vector<ResultCell> Measured(
    const Sweep& sweep, const std::function<void(ResultCell&)>& measure) {
  std::vector<ResultCell> measured;
  for (const Point& point : ProbesOf(sweep).points) {
    for (const Cell& cell : point.cells) {
      measured.push_back(FailedCell(cell, CellStatus::kOk, ""));
      measure(measured.back());
    }
  }
  return measured;
}

// How much longer `more` rounds take.
double SecondsOfRounds(Sweep sweep, const std::vector<ResultCell>& probed,
                       int more = 100) {
  sweep.repetitions = 1;
  const double before = EstimateTime(sweep, probed).total_s();
  sweep.repetitions += more;
  return EstimateTime(sweep, probed).total_s() - before;
}

TEST(Estimate, LongTrialsLieOnTheLineThroughTheirProbes) {
  const Sweep sweep = SweepOf({{"memory_length", {2000}}}, "soft");
  const auto probed = Measured(sweep, [](ResultCell& cell) {
    const auto U = static_cast<double>(cell.axes.at("output_length").whole());
    cell.samples_ns = {1e9, 3e6 + 1e3 * U, 2e9};
  });
  EXPECT_NEAR(SecondsOfRounds(sweep, probed),
              100 * (3e-3 + 1e-6 * 2000 + kBesideARound), 1e-6);
  EXPECT_EQ(EstimateTime(sweep, probed).num_unknown, 0U);
}

TEST(Estimate, LongTrialsAreNotShorterThanTheirProbes) {
  const Sweep sweep = SweepOf({{"memory_length", {2000}}}, "soft");
  const auto probed = Measured(sweep, [](ResultCell& cell) {
    const auto U = static_cast<double>(cell.axes.at("output_length").whole());
    cell.samples_ns = {3e6 - 1e3 * U};
  });
  EXPECT_NEAR(SecondsOfRounds(sweep, probed),
              100 * (3e-3 - 1e-6 * 64 + kBesideARound), 1e-6);
}

TEST(Estimate, TheGateMakesSomeOutputsOfEveryDraw) {
  const Sweep sweep =
      SweepOf({{"memory_length", {200}}, {"mode", {"gradient"}}}, "soft");
  const auto seconds = [&](double run_ns, double output_ns) {
    const auto probed = Measured(sweep, [&](ResultCell& cell) {
      const auto U = static_cast<double>(cell.axes.at("output_length").whole());
      cell.samples_ns = {1e6};
      cell.gate_ns = run_ns + U * output_ns;
    });
    return EstimateTime(sweep, probed).total_s();
  };
  // An output takes 200 (200 + 256) multiply-adds of 2^27; each draw has one
  // output at least.
  const double without = seconds(0, 0);
  EXPECT_NEAR(seconds(1e6, 0) - without, 1e-3 * 16, 1e-9);
  EXPECT_NEAR(seconds(0, 1e6) - without, 1e-3 * (16 + (1 << 27) / (200. * 456)),
              1e-9);
}

TEST(Estimate, OnlyTheFirstProcessChecksWhatItDecodes) {
  const auto more_ns = [](const char* mode, double gate_ns) {
    Sweep sweep =
        SweepOf({{"memory_length", {2000}}, {"mode", {mode}}}, "soft");
    const auto probed = Measured(sweep, [&](ResultCell& cell) {
      cell.samples_ns = {1e6};
      cell.gate_ns = gate_ns;
    });
    const double one = EstimateTime(sweep, probed).total_s();
    sweep.processes = 3;
    return EstimateTime(sweep, probed).total_s() - one;
  };
  EXPECT_GT(more_ns("decode", 0), 2 * 10 * 1e-3);
  EXPECT_NEAR(more_ns("decode", 1e9), more_ns("decode", 0), 1e-9);
  EXPECT_GT(more_ns("gradient", 1e9), more_ns("gradient", 0) + 2);
}

TEST(Estimate, WholeDecodersTakeAsLongAsTheirStepsAndReads) {
  const std::map<std::string, std::vector<AxisValue>> axes = {
      {"scope", {"decoder"}},
      {"workload", {"copy:1"}},
      {"energy", {"additive"}},
      {"memory_length", {100}},
      {"batch", {8}}};
  const auto seconds = [&](const std::string& mechanism, double attention_ns) {
    const Sweep sweep = SweepOf(axes, mechanism);
    return SecondsOfRounds(
        sweep, Measured(sweep, [&](ResultCell& cell) {
          cell.samples_ns = {5e6};
          cell.decoder.emplace();
          cell.decoder->attention_samples_ns = {attention_ns};
        }));
  };
  // Sources of 50 and of 8 symbols have an end symbol, and one more is empty.
  const double steps = (8 * 51 + 1) / 10.;
  const double with_encoder = (8 * 101 + 1) / 18.;
  const double of_attention = 100 * (2e-3 + kProbesOfARound);
  for (const char* mechanism : {"none", "soft"}) {
    EXPECT_NEAR(seconds(mechanism, 0), 100 * 5e-3 * with_encoder + of_attention,
                1e-6);
  }
  EXPECT_NEAR(
      seconds("soft", 1e6),
      100 * (4e-3 * with_encoder + 1e-3 * 100 / 16 * steps) + of_attention,
      1e-6);
}

TEST(Estimate, TrialsOfWhichAProbeFailedAreTakenToBeShort) {
  const Sweep sweep = SweepOf({{"memory_length", {2000}}}, "soft");
  const auto probed = Measured(sweep, [](ResultCell& cell) {
    cell.samples_ns = {3e6};
    if (cell.axes.at("output_length").whole() == 64) {
      cell.status = CellStatus::kError;
    }
  });
  EXPECT_NEAR(SecondsOfRounds(sweep, probed), 100 * (1e-3 + kBesideARound),
              1e-9);
  EXPECT_EQ(EstimateTime(sweep, probed).num_unknown, 1U);
}

TEST(Estimate, LongTrialsAreGuessedBeforeTheyAreProbed) {
  const Sweep sweep = SweepOf({{"memory_length", {2000}}}, "soft");
  EXPECT_GT(SecondsOfRounds(sweep, {}), 100 * 1e-2);
  EXPECT_EQ(EstimateTime(sweep).num_unknown, 1U);
  EXPECT_EQ(EstimateTime(Small()).num_unknown, 0U);
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
