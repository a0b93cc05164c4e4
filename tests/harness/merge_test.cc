// Guards against a merged result that is not what one run would have written:
// points twice, points of another run, points that are missing without a word.
#include "harness/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "harness/calibration.h"
#include "harness/error.h"
#include "harness/fingerprint.h"
#include "harness/runs.h"
#include "tests/support/made_up_results.h"

namespace attnbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MadeUpCell;
using testing::MadeUpResult;

// A run of five points with two cells each.
ResultDocument Whole() {
  std::vector<Json> cells;
  for (const int length : {50, 10, 40, 20, 30}) {
    for (const char* mechanism : {"soft", "mocha"}) {
      cells.push_back(MadeUpCell(mechanism, length, {1.0 * length}));
    }
  }
  return MadeUpResult("whole.json", cells);
}

// Points i, i + n, i + 2n ... of it.
ResultDocument Shard(std::size_t i, std::size_t n) {
  const Json whole = Whole().json;
  Json document = whole;
  document["cells"] = Json::array();
  const Json& points = whole.at("context").at("points");
  for (std::size_t p = i; p < points.size(); p += n) {
    for (const Json& cell : whole.at("cells")) {
      if (cell.at("point") == points[p]) document["cells"].push_back(cell);
    }
  }
  Json& context = document["context"];
  context["shard"] = std::to_string(i) + "/" + std::to_string(n);
  context["runs"] = RunsOf(document);
  return {"shard" + std::to_string(i) + ".json", document};
}

// The clock of all points of a part: a loop takes so long.
void SetClock(double time_ns, ResultDocument& part) {
  Json& context = part.json["context"];
  context["calibration"] = Json::array();
  for (const Json& point : context["runs"][0]["points"]) {
    context["calibration"].push_back(
        CalibrationJson(point, std::vector<double>(10, time_ns)));
  }
}

std::vector<std::string> Reasons(const Merged& merged) {
  return merged.document["context"]["invalid_reasons"];
}

std::string ErrorOf(const std::vector<ResultDocument>& results) {
  try {
    MergeResults(results, "merge");
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Merge, ShardsInAnyOrderGiveTheRun) {
  const Merged merged =
      MergeResults({Shard(2, 3), Shard(0, 3), Shard(1, 3)}, "attnbench merge");
  EXPECT_EQ(merged.missing, "");
  Json expected = Whole().json;
  expected["context"]["command"] = "attnbench merge";
  expected["context"]["runs"] = Json::array();
  for (const std::size_t i : {2U, 0U, 1U}) {
    Json run = Shard(i, 3).json["context"]["runs"][0];
    run["file"] = "shard" + std::to_string(i) + ".json";
    expected["context"]["runs"].push_back(run);
  }
  EXPECT_EQ(merged.document, expected);
}

TEST(Merge, EveryPartsRunsStayWithTheWorstLoad) {
  ResultDocument first = Shard(0, 2), other = Shard(1, 2);
  Json& context = other.json["context"];
  context["runs"].push_back(context["runs"][0]);
  context["runs"][1]["date"] = "2020-01-02T00:00:00Z";
  context["runs"][1]["load_end"] = 9.5;
  context["runs"][1]["invalid_reasons"] = {"busy"};
  const Merged merged = MergeResults({first, other}, "merge");
  const Json& runs = merged.document["context"]["runs"];
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[2]["date"], "2020-01-02T00:00:00Z");
  EXPECT_EQ(runs[2]["file"], "shard1.json");
  EXPECT_EQ(merged.document["context"]["load"], 0.25);
  EXPECT_EQ(merged.document["context"]["load_end"], 9.5);
  EXPECT_THAT(Reasons(merged), ElementsAre("shard1.json: busy"));
}

TEST(Merge, DriftFromShardToShardIsJudged) {
  ResultDocument first = Shard(0, 2), other = Shard(1, 2);
  SetClock(100, first);
  SetClock(100, other);
  const Json steady = MergeResults({first, other}, "merge").document;
  EXPECT_EQ(steady["context"]["valid"], true);
  const Json& points = steady["context"]["points"];
  const Json& calibration = steady["context"]["calibration"];
  ASSERT_EQ(calibration.size(), points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(calibration[i]["point"], points[i]);
  }
  SetClock(120, other);
  EXPECT_THAT(Reasons(MergeResults({first, other}, "merge")),
              ElementsAre(HasSubstr("drifted by 20.0 % between points")));
}

TEST(Merge, AnEntryOfAPointThatAnotherFileHasIsNotTaken) {
  ResultDocument first = Shard(0, 2), other = Shard(1, 2);
  SetClock(100, first);
  SetClock(100, other);
  Json& others = other.json["context"]["calibration"];
  others.push_back(first.json["context"]["calibration"][0]);
  others.back()["median_ns"] = 500;
  EXPECT_THAT(Reasons(MergeResults({first, other}, "merge")), IsEmpty());
}

TEST(Merge, AnInterruptCountsWhilePointsAreMissingAndNoLonger) {
  ResultDocument interrupted = Shard(0, 2);
  // Without its last point, and judged as run-sweep does.
  Json& cells = interrupted.json["cells"];
  const std::vector<Json> last = {cells[cells.size() - 2], cells.back()};
  cells.erase(cells.end() - 2, cells.end());
  Json& context = interrupted.json["context"];
  context["runs"][0]["points"].erase(2);
  JudgeRuns("interrupted: 2 of 3 points", context);
  ResultDocument rest = MadeUpResult("rest.json", last);
  rest.json["context"]["points"] = context["points"];

  const Merged part = MergeResults({interrupted, Shard(1, 2)}, "merge");
  EXPECT_THAT(Reasons(part), ElementsAre("1 of 5 points are missing"));
  EXPECT_THAT(Reasons(MergeResults({interrupted, rest, Shard(1, 2)}, "merge")),
              IsEmpty());
  // A merge is a part like any other.
  const ResultDocument so_far{"part.json", part.document};
  const Merged whole = MergeResults({rest, so_far}, "merge");
  EXPECT_THAT(Reasons(whole), IsEmpty());
  const Json& runs = whole.document["context"]["runs"];
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0]["file"], "rest.json");
  EXPECT_EQ(runs[1]["file"], "shard0.json");
}

TEST(Merge, MissingPointsAreCountedWithTheirShard) {
  const Merged merged = MergeResults({Shard(0, 4), Shard(2, 4)}, "merge");
  EXPECT_EQ(merged.missing,
            "2 of 5 points are missing; shards 1/4, 3/4 are missing");
  const Json& context = merged.document.at("context");
  EXPECT_EQ(context.at("valid"), false);
  EXPECT_THAT(context.at("invalid_reasons").get<std::vector<std::string>>(),
              ElementsAre(merged.missing));
  EXPECT_EQ(merged.document.at("cells").size(), 6U);
}

TEST(Merge, AShardThatThereCannotBeIsRefused) {
  for (const char* shard : {"4/4", "0/99999999999999999999"}) {
    ResultDocument other = Shard(1, 2);
    other.json["context"]["shard"] = shard;
    EXPECT_THAT(ErrorOf({other}), HasSubstr("shard1.json: --shard: ")) << shard;
  }
}

TEST(Merge, APointOfTwoFilesIsRefusedNamingBoth) {
  const std::string error = ErrorOf({Shard(0, 2), Shard(1, 2), Shard(0, 4)});
  EXPECT_THAT(error, HasSubstr("shard0.json: has point"));
  EXPECT_THAT(error, HasSubstr("which shard0.json has too"));
  EXPECT_THAT(ErrorOf({Whole(), Shard(1, 2)}), HasSubstr("whole.json has too"));
}

TEST(Merge, PartsOfOtherRunsAreRefused) {
  for (const char* field : {"commit", "build_id", "seed"}) {
    ResultDocument other = Shard(1, 2);
    other.json["context"][field] = "another";
    EXPECT_THAT(ErrorOf({Shard(0, 2), other}),
                HasSubstr(std::string("shard1.json: is no part of the run of "
                                      "shard0.json: it has ") +
                          field + " \"another\""));
  }
  ResultDocument other = Shard(1, 2);
  other.json["context"]["points"].push_back("0123456789abcdef");
  EXPECT_THAT(ErrorOf({Shard(0, 2), other}), HasSubstr("another sweep"));
}

TEST(Merge, OtherMachinesAreRecordedNotRefused) {
  ResultDocument other = Shard(1, 2);
  other.json["context"]["cpu"] = "another";
  other.json["context"]["runs"][0]["warnings"] = {"busy"};
  other.json["context"]["limits"] = {{{"precision", "f32"}, {"threads", 1}},
                                     {{"precision", "f64"}, {"threads", 1}}};
  ResultDocument first = Shard(0, 2);
  first.json["context"]["limits"] = {
      {{"precision", "f32"}, {"threads", 1}, {"peak_flops_per_s", 7}}};
  const Json context =
      MergeResults({first, other}, "merge").document.at("context");
  EXPECT_EQ(context.at("valid"), true);
  EXPECT_EQ(context.at("cpu"), "a processor");
  EXPECT_THAT(context.at("warnings").get<std::vector<std::string>>(),
              ElementsAre("shard1.json: busy",
                          "shard1.json: cpu is \"another\", in shard0.json \"a "
                          "processor\""));
  ASSERT_EQ(context.at("limits").size(), 2U);
  EXPECT_EQ(context.at("limits")[0].at("peak_flops_per_s"), 7);
}

TEST(Merge, EveryRunKeepsWhatItWasMeasuredWith) {
  ResultDocument first = Shard(0, 3), other = Shard(1, 3), third = Shard(2, 3);
  other.json["context"]["cpu"] = "another";
  third.json["context"]["cpu"] = "a third";
  const Json merged = MergeResults({first, other}, "merge").document;
  const auto cpus = [](const Json& document) {
    std::vector<std::string> found;
    for (const Json& run : document.at("context").at("runs")) {
      found.push_back(FieldsOfRun(document.at("context"), run).at("cpu"));
    }
    return found;
  };
  EXPECT_THAT(cpus(merged), ElementsAre("a processor", "another"));
  EXPECT_FALSE(merged["context"]["runs"][0].contains("differs"));
  // A merge is a part like any other.
  const ResultDocument so_far{"part.json", merged};
  EXPECT_THAT(cpus(MergeResults({third, so_far}, "merge").document),
              ElementsAre("a third", "a processor", "another"));
  EXPECT_THAT(cpus(MergeResults({so_far, third}, "merge").document),
              ElementsAre("a processor", "another", "a third"));
}

TEST(Merge, WhatIsNotValidStaysSo) {
  ResultDocument other = Shard(1, 2);
  other.json["context"]["valid"] = false;
  other.json["context"]["invalid_reasons"] = {"a debug build"};
  other.json["context"].erase("runs");  // as before there were any
  const Json context =
      MergeResults({Shard(0, 2), other}, "merge").document.at("context");
  EXPECT_EQ(context.at("valid"), false);
  EXPECT_THAT(context.at("invalid_reasons").get<std::vector<std::string>>(),
              ElementsAre("shard1.json: a debug build"));
}

}  // namespace
}  // namespace attnbench
