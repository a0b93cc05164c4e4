// Guards against a merged result that is not what one run would have written:
// points twice, points of another run, points that are missing without a word.
#include "harness/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "harness/error.h"
#include "tests/support/made_up_results.h"

namespace attnbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
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
  document["context"]["shard"] = std::to_string(i) + "/" + std::to_string(n);
  return {"shard" + std::to_string(i) + ".json", document};
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
  EXPECT_EQ(merged.document, expected);
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
  other.json["context"]["warnings"] = {"busy"};
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

TEST(Merge, WhatIsNotValidStaysSo) {
  ResultDocument other = Shard(1, 2);
  other.json["context"]["valid"] = false;
  other.json["context"]["invalid_reasons"] = {"a debug build"};
  const Json context =
      MergeResults({Shard(0, 2), other}, "merge").document.at("context");
  EXPECT_EQ(context.at("valid"), false);
  EXPECT_THAT(context.at("invalid_reasons").get<std::vector<std::string>>(),
              ElementsAre("shard1.json: a debug build"));
}

}  // namespace
}  // namespace attnbench
