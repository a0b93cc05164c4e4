// Guards against results that are believed unchecked: each of these documents
// would end in a crash or in a verdict on numbers that are not there.
#include "harness/results/sweep_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "harness/base/json_file.h"
#include "harness/machine/sanitized.h"
#include "tests/support/error_text.h"
#include "tests/support/made_up_results.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;

constexpr char kBaseline[] = "results/baseline/ci.json";

// The error for the first cells of a real result after a change.
std::string ErrorAfter(const std::function<void(Json&)>& change) {
  static const Json good = [] {
    Json document = ReadJsonFile(kBaseline);
    document["cells"].erase(document["cells"].begin() + 3,
                            document["cells"].end());
    return document;
  }();
  Json document = good;
  change(document);
  return testing::ErrorText([&] { SweepResultOf(document, "r.json"); });
}

TEST(ResultReader, RefusesAnIntervalWhoseUpperEndStandsFirst) {
  EXPECT_EQ(ErrorAfter([](Json& result) {
              result["cells"][0]["interval_ns"] = {2.5, 1.5};
            }),
            "r.json: cells[0].interval_ns: is [2.5,1.5], the lower end must "
            "stand first");
}

TEST(ResultReader, TakesWhatASweepWrote) {
  EXPECT_EQ(ErrorAfter([](Json&) {}), "");
}

TEST(ResultReader, TakesEveryResultThatIsCommitted) {
  namespace fs = std::filesystem;
  int num_sweeps = 0;
  for (const auto& entry : fs::recursive_directory_iterator("results")) {
    if (entry.path().extension() != ".json") continue;
    // A sanitizer learns nothing from many cells that few do not tell it.
    if (kIsSanitized && entry.file_size() > 200'000) continue;
    const Json document = ReadJsonFile(entry.path());
    if (document.value("kind", Json()) != "sweep") continue;
    ++num_sweeps;
    const SweepResult result = SweepResultOf(document, entry.path());
    EXPECT_EQ(result.cells.size(), document["cells"].size());
    // The result says the same when it is written and read again. (EXPECT_EQ
    // would print all of both.)
    const Json again = ToJson(result);
    EXPECT_TRUE(again == ToJson(SweepResultOf(again, "again"))) << entry.path();
  }
  EXPECT_GE(num_sweeps, 20);
}

TEST(ResultReader, NamesThePlaceOfWhatTheSchemaDoesNotAllow) {
  EXPECT_THAT(
      ErrorAfter([](Json& json) { json["cells"][1]["status"] = "fine"; }),
      HasSubstr("r.json: cells[1].status: unknown value 'fine'"));
  EXPECT_THAT(
      ErrorAfter([](Json& json) { json["cells"][2]["interval_ns"] = {1}; }),
      HasSubstr("cells[2].interval_ns: "));
  EXPECT_THAT(ErrorAfter([](Json& json) { json["context"].erase("points"); }),
              HasSubstr("context: has no 'points'"));
  EXPECT_THAT(ErrorAfter([](Json& json) { json["cells"][0].erase("status"); }),
              HasSubstr("cells[0]: has no 'status'"));
  EXPECT_THAT(ErrorAfter([](Json& json) { json["context"]["limits"] = "x"; }),
              HasSubstr("context.limits: \"x\" is no list"));
  EXPECT_THAT(
      ErrorAfter([](Json& json) { json["cells"][0]["samples_ns"][0] = -1; }),
      HasSubstr("cells[0].samples_ns[0]: -1 is no number from 0"));
  EXPECT_THAT(ErrorAfter([](Json& json) { json["cells"] = 7; }),
              HasSubstr("cells: "));
  EXPECT_THAT(ErrorAfter([](Json& json) { json["schema_version"] = 2; }),
              HasSubstr("schema_version 2, must be 1"));
}

TEST(ResultReader, RefusesOtherKinds) {
  EXPECT_THAT(ErrorAfter([](Json& json) { json["kind"] = "verify"; }),
              HasSubstr("r.json: is of kind \"verify\", must be 'sweep'"));
  EXPECT_THAT(ErrorAfter([](Json& json) { json.erase("kind"); }),
              HasSubstr("is no result"));
  EXPECT_THAT(ErrorAfter([](Json& json) { json = Json::array(); }),
              HasSubstr("is no result"));
}

TEST(ResultReader, FindsWhatASchemaCannotSay) {
  EXPECT_THAT(
      ErrorAfter([](Json& json) { json["cells"][0]["samples_ns"] = {0}; }),
      HasSubstr("cells[0]: samples_ns has 0, it must be above 0"));
  EXPECT_THAT(ErrorAfter([](Json& json) {
                json["cells"][0]["samples_ns"] = {1, 2, 3};
                json["cells"][0]["processes"] = 2;
              }),
              HasSubstr("3 samples of 2 processes"));
  EXPECT_THAT(ErrorAfter([](Json& json) {
                json["cells"][0]["samples_ns"] = {1, 2, 3};
                json["cells"][0]["processes"] = 3;
                json["cells"][0]["builds"] = 2;
              }),
              HasSubstr("3 processes of 2 builds"));
  EXPECT_THAT(
      ErrorAfter([](Json& json) { json["cells"][2] = json["cells"][1]; }),
      HasSubstr("cells[2]: is there twice"));
  EXPECT_THAT(ErrorAfter([](Json& json) {
                json["cells"][0]["point"] = "0000000000000000";
              }),
              HasSubstr("its point is none of context.points"));
}

TEST(ResultReader, RefusesATimeOfACellThatIsNotOk) {
  EXPECT_THAT(
      ErrorAfter([](Json& json) { json["cells"][0]["status"] = "error"; }),
      HasSubstr("cells[0]: is error and has no message"));
  EXPECT_THAT(ErrorAfter([](Json& json) {
                json["cells"][0]["status"] = "error";
                json["cells"][0]["message"] = "too large";
              }),
              HasSubstr("cells[0]: is error and has samples_ns"));
  EXPECT_THAT(
      ErrorAfter([](Json& json) { json["cells"][0]["operations"] = nullptr; }),
      HasSubstr("cells[0]: is ok and has no operations"));
}

TEST(ResultReader, RefusesAGoodCellWhoseErrorIsAboveItsBound) {
  const auto error_of = [](double error) {
    return ErrorAfter([error](Json& json) {
      json["cells"][1]["numerics"]["error"] = error;
      json["cells"][1]["numerics"]["error_bound"] = 0.5;
    });
  };
  EXPECT_EQ(error_of(0.5), "");
  EXPECT_EQ(error_of(0.75),
            "r.json: cells[1]: is ok and numerics.error 0.75 is above "
            "numerics.error_bound 0.5");
}

TEST(ResultReader, RefusesAContextThatIsValidAgainstItsReasons) {
  EXPECT_EQ(ErrorAfter([](Json& json) {
              json["context"]["valid"] = true;
              json["context"]["invalid_reasons"] = {"a debug build"};
            }),
            "r.json: context: is valid and has invalid_reasons");
  EXPECT_EQ(ErrorAfter([](Json& json) {
              json["context"]["valid"] = false;
              json["context"]["invalid_reasons"] = Json::array();
            }),
            "r.json: context: is not valid and has no invalid_reasons");
}

TEST(ResultReader, HoldsAWholeDecoderToItsFigures) {
  const auto error_after = [](const std::function<void(Json&)>& change) {
    Json cell = ToJson(testing::MadeUpDecoderCell("soft", 10, {5, 6}));
    change(cell);
    return testing::ErrorText(
        [&] { CheckCell(FromJson<ResultCell>(cell, "cell"), Place("cell")); });
  };
  EXPECT_EQ(error_after([](Json&) {}), "");
  EXPECT_EQ(error_after([](Json& cell) { cell.erase("decoder"); }),
            "cell: is ok and has no decoder");
  EXPECT_THAT(error_after([](Json& cell) {
                cell["decoder"]["attention_samples_ns"] = {5};
                cell["processes"] = 2;
              }),
              HasSubstr("decoder.attention_samples_ns has 1 sample,"));
  EXPECT_EQ(error_after([](Json& cell) { cell.erase("beam"); }),
            "cell: has scope decoder and has no beam");
  EXPECT_EQ(error_after([](Json& cell) { cell["vocabulary"] = nullptr; }),
            "cell: has scope decoder and has no vocabulary");
  EXPECT_EQ(error_after([](Json& cell) { cell["scope"] = "full"; }),
            "cell: has scope full and has beam");
  EXPECT_EQ(error_after([](Json& cell) {
              cell["operations"] = ToJson(CellOperations());
            }),
            "cell: is ok and has operations");
  EXPECT_EQ(error_after([](Json& cell) { cell["decoder"]["reads"] = nullptr; }),
            "cell: mechanism soft has no decoder.reads");
  EXPECT_THAT(error_after([](Json& cell) { cell["mechanism"] = "none"; }),
              HasSubstr("attention_samples_ns has 2 samples, it must have 0"));
  EXPECT_THAT(error_after([](Json& cell) {
                cell["decoder"]["reads"]["memory_read"] = 1.5;
              }),
              HasSubstr("decoder.reads.memory_read"));
  EXPECT_THAT(error_after([](Json& cell) {
                cell["status"] = "error";
                cell["message"] = "too large";
                cell["samples_ns"] = Json::array();
                cell["median_ns"] = nullptr;
                cell["interval_ns"] = nullptr;
                cell["least_ns"] = nullptr;
                cell["spread"] = nullptr;
              }),
              HasSubstr("has decoder"));
  EXPECT_THAT(ErrorAfter([](Json& json) {
                json["cells"][0]["decoder"] = ToJson(
                    *testing::MadeUpDecoderCell("soft", 10, {5}).decoder);
              }),
              HasSubstr("is ok and has decoder"));
}

TEST(ResultReader, NamesAFileThatIsNotThere) {
  EXPECT_THAT(testing::ErrorText([&] { ReadResult("no/such.json"); }),
              HasSubstr("no/such.json: cannot be read"));
}

}  // namespace
}  // namespace attnbench
