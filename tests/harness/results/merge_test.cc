// Guards against a merged result that is not what one run would have written:
// points twice, points of another run, points that are missing without a word.
#include "harness/results/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "harness/machine/calibration.h"
#include "harness/machine/fingerprint.h"
#include "harness/machine/validity.h"
#include "tests/support/error_text.h"
#include "tests/support/made_up_results.h"
#include "tests/support/probed.h"

namespace attnbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MadeUpCell;
using testing::MadeUpResult;

// A run of five points with two cells each.
ReadSweep Whole() {
  std::vector<Json> cells;
  for (const int length : {50, 10, 40, 20, 30}) {
    for (const char* mechanism : {"soft", "mocha"}) {
      cells.push_back(MadeUpCell(mechanism, length, {1.0 * length}));
    }
  }
  return MadeUpResult("whole.json", cells);
}

// The points i, i + n, i + 2n ... of that run.
ReadSweep Shard(std::size_t i, std::size_t n) {
  const SweepResult whole = Whole().result;
  SweepResult result = whole;
  result.cells.clear();
  const std::vector<std::string>& points = whole.context.points;
  for (std::size_t p = i; p < points.size(); p += n) {
    for (const ResultCell& cell : whole.cells) {
      if (cell.point == points[p]) result.cells.push_back(cell);
    }
  }
  result.context.shard = std::to_string(i) + "/" + std::to_string(n);
  result.context.runs = RunsOf(result);
  return {"shard" + std::to_string(i) + ".json", result};
}

// Sets the clock of all points of a part: a loop takes `time_ns`.
void SetClock(double time_ns, ReadSweep& part) {
  SweepContext& context = part.result.context;
  context.calibration.clear();
  for (const std::string& point : context.runs[0].points) {
    context.calibration.push_back(CalibrationOf(
        point, testing::ChainOnly(std::vector<double>(10, time_ns))));
  }
}

std::vector<std::string> Reasons(const Merged& merged) {
  return merged.result.context.invalid_reasons;
}

std::string ErrorOf(const std::vector<ReadSweep>& results) {
  return testing::ErrorText([&] { MergeResults(results, "merge"); });
}

TEST(Runs, AResultThatSaysNothingOfThemIsOfOne) {
  SweepResult result = Whole().result;
  result.context.warnings = {"dirty"};
  const std::vector<MeasuringRun> runs = RunsOf(result);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].date, result.context.date);
  EXPECT_EQ(runs[0].load, 0.25);
  EXPECT_THAT(runs[0].warnings, ElementsAre("dirty"));
  EXPECT_EQ(runs[0].points, result.context.points);
  result.context.runs.resize(2);
  EXPECT_EQ(RunsOf(result).size(), 2U);
}

TEST(Merge, ShardsInAnyOrderGiveTheRun) {
  const Merged merged =
      MergeResults({Shard(2, 3), Shard(0, 3), Shard(1, 3)}, "attnbench merge");
  EXPECT_EQ(merged.missing, "");
  SweepResult expected = Whole().result;
  expected.context.command = "attnbench merge";
  for (const std::size_t i : {2U, 0U, 1U}) {
    MeasuringRun run = Shard(i, 3).result.context.runs[0];
    run.file = "shard" + std::to_string(i) + ".json";
    expected.context.runs.push_back(run);
  }
  EXPECT_EQ(ToJson(merged.result), ToJson(expected));
}

TEST(Merge, EveryPartsRunsStayWithTheWorstLoad) {
  ReadSweep first = Shard(0, 2), other = Shard(1, 2);
  std::vector<MeasuringRun>& of_other = other.result.context.runs;
  of_other.push_back(of_other[0]);
  of_other[1].date = "2020-01-02T00:00:00Z";
  of_other[1].load_end = 9.5;
  of_other[1].invalid_reasons = {"busy"};
  const Merged merged = MergeResults({first, other}, "merge");
  const std::vector<MeasuringRun>& runs = merged.result.context.runs;
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[2].date, "2020-01-02T00:00:00Z");
  EXPECT_EQ(runs[2].file, "shard1.json");
  EXPECT_EQ(merged.result.context.load, 0.25);
  EXPECT_EQ(merged.result.context.load_end, 9.5);
  EXPECT_THAT(Reasons(merged), ElementsAre("shard1.json: busy"));
}

TEST(Merge, DriftFromShardToShardIsJudged) {
  ReadSweep first = Shard(0, 2), other = Shard(1, 2);
  SetClock(100, first);
  SetClock(100, other);
  const SweepContext steady =
      MergeResults({first, other}, "merge").result.context;
  EXPECT_TRUE(steady.valid);
  ASSERT_EQ(steady.calibration.size(), steady.points.size());
  for (std::size_t i = 0; i < steady.points.size(); ++i) {
    EXPECT_EQ(steady.calibration[i].point, steady.points[i]);
  }
  SetClock(120, other);
  EXPECT_THAT(Reasons(MergeResults({first, other}, "merge")),
              ElementsAre(HasSubstr("drifted by 20.0 % between points")));
}

TEST(Merge, AnEntryOfAPointThatAnotherFileHasIsNotTaken) {
  ReadSweep first = Shard(0, 2), other = Shard(1, 2);
  SetClock(100, first);
  SetClock(100, other);
  std::vector<Calibration>& others = other.result.context.calibration;
  others.push_back(first.result.context.calibration[0]);
  others.back().median_ns = 500;
  EXPECT_THAT(Reasons(MergeResults({first, other}, "merge")), IsEmpty());
}

TEST(Merge, PartsThatRanOtherLibrariesAreRefused) {
  ReadSweep first = Shard(0, 2), other = Shard(1, 2);
  first.result.context.loaded = {{"blas", {.file = "a.so", .core = "Zen"}}};
  first.result.context.environment.emplace();
  const auto change = [&](const std::function<void(SweepContext&)>& how) {
    other.result.context.loaded = first.result.context.loaded;
    other.result.context.environment.emplace();
    how(other.result.context);
    return ErrorOf({first, other});
  };
  EXPECT_EQ(change([](SweepContext&) {}), "");
  EXPECT_EQ(
      change([](SweepContext& c) { c.loaded->at("blas").core = "Prescott"; }),
      "shard1.json: is no part of the run of shard0.json: it has "
      "loaded.blas.core \"Prescott\", not \"Zen\"");
  EXPECT_THAT(change([](SweepContext& c) { c.loaded->at("blas").file = "b"; }),
              HasSubstr("loaded.blas.file"));
  EXPECT_THAT(change([](SweepContext& c) {
                c.environment->emplace("LD_PRELOAD", "b");
              }),
              HasSubstr("environment.LD_PRELOAD \"b\", not null"));
  // Another processor is told, and has its own core.
  EXPECT_EQ(change([](SweepContext& c) {
              c.cpu = "another";
              c.loaded->at("blas").core = "Haswell";
            }),
            "");
}

TEST(Merge, AnInterruptCountsWhilePointsAreMissingAndNoLonger) {
  ReadSweep interrupted = Shard(0, 2);
  // The interrupted run lacks its last point, and is judged as run-sweep does.
  std::vector<ResultCell>& cells = interrupted.result.cells;
  const std::vector<Json> last = {ToJson(cells[cells.size() - 2]),
                                  ToJson(cells.back())};
  cells.erase(cells.end() - 2, cells.end());
  SweepContext& context = interrupted.result.context;
  context.runs[0].points.pop_back();
  SetValidityOfRuns("interrupted: 2 of 3 points", {}, context);
  ReadSweep rest = MadeUpResult("rest.json", last);
  rest.result.context.points = context.points;

  const Merged part = MergeResults({interrupted, Shard(1, 2)}, "merge");
  EXPECT_THAT(Reasons(part), ElementsAre("1 of 5 points are missing"));
  EXPECT_THAT(Reasons(MergeResults({interrupted, rest, Shard(1, 2)}, "merge")),
              IsEmpty());
  // A merged result is a part like any other.
  const ReadSweep so_far{"part.json", part.result};
  const Merged whole = MergeResults({rest, so_far}, "merge");
  EXPECT_THAT(Reasons(whole), IsEmpty());
  const std::vector<MeasuringRun>& runs = whole.result.context.runs;
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].file, "rest.json");
  EXPECT_EQ(runs[1].file, "shard0.json");
}

TEST(Merge, APointThatNotAllProcessesHaveMeasuredIsMissing) {
  ReadSweep first = Shard(0, 2), other = Shard(1, 2);
  first.result.context.processes = other.result.context.processes = 2;
  for (ReadSweep* file : {&first, &other}) {
    for (ResultCell& cell : file->result.cells) cell.processes = 2;
  }
  EXPECT_EQ(MergeResults({first, other}, "merge").missing, "");
  other.result.cells[1].processes = 1;
  const Merged merged = MergeResults({first, other}, "merge");
  EXPECT_THAT(merged.missing,
              HasSubstr("1 of 5 points are missing, or not measured by all 2"));
  EXPECT_FALSE(merged.result.context.valid);
  other.result.context.processes = 3;
  EXPECT_THAT(ErrorOf({first, other}), HasSubstr("it has processes 3, not 2"));
}

TEST(Merge, MissingPointsAreCountedWithTheirShard) {
  const Merged merged = MergeResults({Shard(0, 4), Shard(2, 4)}, "merge");
  EXPECT_EQ(merged.missing,
            "2 of 5 points are missing; shards 1/4, 3/4 are missing");
  EXPECT_FALSE(merged.result.context.valid);
  EXPECT_THAT(Reasons(merged), ElementsAre(merged.missing));
  EXPECT_EQ(merged.result.cells.size(), 6U);
}

TEST(Merge, AShardThatThereCannotBeIsRefused) {
  for (const char* shard : {"4/4", "0/99999999999999999999"}) {
    ReadSweep other = Shard(1, 2);
    other.result.context.shard = shard;
    EXPECT_THAT(ErrorOf({other}), HasSubstr("shard1.json: --shard: ")) << shard;
  }
}

TEST(Merge, APointOfTwoFilesIsRefusedNamingBoth) {
  const std::string error = ErrorOf({Shard(0, 2), Shard(1, 2), Shard(0, 4)});
  EXPECT_THAT(error, HasSubstr("shard0.json: has point"));
  EXPECT_THAT(error, HasSubstr("which shard0.json has too"));
  EXPECT_THAT(ErrorOf({Whole(), Shard(1, 2)}), HasSubstr("whole.json has too"));
}

TEST(Merge, APointThatNoRunHasIsRefused) {
  ReadSweep other = Shard(1, 2);
  other.result.context.runs[0].points.pop_back();
  EXPECT_EQ(ErrorOf({Shard(0, 2), other}),
            "shard1.json: has point " + other.result.cells.back().point +
                ", which none of context.runs has");
}

TEST(Merge, PartsOfOtherRunsAreRefused) {
  const std::string error = "shard1.json: is no part of the run of shard0.json";
  ReadSweep other = Shard(1, 2);
  other.result.context.commit = "another";
  EXPECT_THAT(ErrorOf({Shard(0, 2), other}),
              HasSubstr(error + ": it has commit \"another\", not \"abc\""));
  other = Shard(1, 2);
  other.result.context.build_id = "another";
  EXPECT_THAT(ErrorOf({Shard(0, 2), other}),
              HasSubstr(error + ": it has build_id \"another\""));
  other = Shard(1, 2);
  other.result.context.seed = 7;
  EXPECT_THAT(ErrorOf({Shard(0, 2), other}),
              HasSubstr(error + ": it has seed 7, not 1"));
  other = Shard(1, 2);
  other.result.context.points.emplace_back("0123456789abcdef");
  EXPECT_THAT(ErrorOf({Shard(0, 2), other}), HasSubstr("another sweep"));
}

MachineLimits Limits(Precision precision, double peak_flops_per_s) {
  MachineLimits limits;
  limits.precision = precision;
  limits.peak_flops_per_s = peak_flops_per_s;
  return limits;
}

TEST(Merge, OtherMachinesAreRecordedNotRefused) {
  ReadSweep other = Shard(1, 2);
  other.result.context.cpu = "another";
  other.result.context.runs[0].warnings = {"busy"};
  other.result.context.limits = {Limits(Precision::kF32, 3),
                                 Limits(Precision::kF64, 3)};
  ReadSweep first = Shard(0, 2);
  first.result.context.limits = {Limits(Precision::kF32, 7)};
  const SweepContext context =
      MergeResults({first, other}, "merge").result.context;
  EXPECT_TRUE(context.valid);
  EXPECT_EQ(context.cpu, "a processor");
  EXPECT_THAT(context.warnings,
              ElementsAre("shard1.json: busy",
                          "shard1.json: cpu is \"another\", in shard0.json \"a "
                          "processor\""));
  ASSERT_EQ(context.limits.size(), 2U);
  EXPECT_EQ(context.limits[0].peak_flops_per_s, 7);
}

TEST(Merge, EveryRunKeepsWhatItWasMeasuredWith) {
  ReadSweep first = Shard(0, 3), other = Shard(1, 3), third = Shard(2, 3);
  other.result.context.cpu = "another";
  third.result.context.cpu = "a third";
  const SweepResult merged = MergeResults({first, other}, "merge").result;
  const auto cpus = [](const SweepResult& result) {
    std::vector<std::string> found;
    for (const MeasuringRun& run : result.context.runs) {
      found.push_back(SetupOf(result.context, run).at("cpu"));
    }
    return found;
  };
  EXPECT_THAT(cpus(merged), ElementsAre("a processor", "another"));
  EXPECT_FALSE(merged.context.runs[0].differs.has_value());
  // A merged result is a part like any other.
  const ReadSweep so_far{"part.json", merged};
  EXPECT_THAT(cpus(MergeResults({third, so_far}, "merge").result),
              ElementsAre("a third", "a processor", "another"));
  EXPECT_THAT(cpus(MergeResults({so_far, third}, "merge").result),
              ElementsAre("a processor", "another", "a third"));
}

TEST(Merge, WhatIsNotValidStaysSo) {
  ReadSweep other = Shard(1, 2);
  other.result.context.valid = false;
  other.result.context.invalid_reasons = {"a debug build"};
  other.result.context.runs.clear();  // as in results from before runs
  const Merged merged = MergeResults({Shard(0, 2), other}, "merge");
  EXPECT_FALSE(merged.result.context.valid);
  EXPECT_THAT(Reasons(merged), ElementsAre("shard1.json: a debug build"));
}

}  // namespace
}  // namespace attnbench
