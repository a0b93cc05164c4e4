// Guards against results that are believed: each of these documents would
// otherwise end in a crash or in a verdict on numbers that are not there.
#include "harness/result_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "harness/error.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;

constexpr char kBaseline[] = "results/baseline/ci.json";

// The first cells of a real result after a change.
std::string ErrorAfter(const std::function<void(Json&)>& change) {
  static const Json good = [] {
    Json document = ReadResult(StandardAxes(), kBaseline).json;
    document["cells"].erase(document["cells"].begin() + 3,
                            document["cells"].end());
    return document;
  }();
  ResultDocument result{"r.json", good};
  change(result.json);
  try {
    CheckResult(StandardAxes(), result);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ResultReader, TakesWhatASweepWrote) {
  EXPECT_EQ(ErrorAfter([](Json&) {}), "no error");
}

TEST(ResultReader, NamesThePlaceOfWhatTheSchemaDoesNotAllow) {
  EXPECT_THAT(
      ErrorAfter([](Json& json) { json["cells"][1]["status"] = "fine"; }),
      HasSubstr("r.json: cells[1].status: is not as "
                "results/schema/sweep.schema.json wants it"));
  EXPECT_THAT(
      ErrorAfter([](Json& json) { json["cells"][2]["interval_ns"] = {1}; }),
      HasSubstr("cells[2].interval_ns: "));
  EXPECT_THAT(ErrorAfter([](Json& json) { json["context"].erase("points"); }),
              HasSubstr("context: "));
  EXPECT_THAT(ErrorAfter([](Json& json) { json["cells"] = 7; }),
              HasSubstr("cells: "));
  EXPECT_THAT(ErrorAfter([](Json& json) { json["schema_version"] = 2; }),
              HasSubstr("schema_version: "));
}

TEST(ResultReader, RefusesOtherKinds) {
  EXPECT_THAT(ErrorAfter([](Json& json) { json["kind"] = "verify"; }),
              HasSubstr("r.json: is of kind \"verify\", 'sweep' is wanted"));
  EXPECT_THAT(ErrorAfter([](Json& json) { json.erase("kind"); }),
              HasSubstr("is no result"));
  EXPECT_THAT(ErrorAfter([](Json& json) { json = Json::array(); }),
              HasSubstr("is no result"));
}

TEST(ResultReader, FindsWhatASchemaCannotSay) {
  EXPECT_THAT(
      ErrorAfter([](Json& json) { json["cells"][0]["samples_ns"] = {0}; }),
      HasSubstr("cells[0]: samples_ns has 0, above 0 is wanted"));
  EXPECT_THAT(ErrorAfter([](Json& json) {
                json["cells"][0]["samples_ns"] = {1, 2, 3};
                json["cells"][0]["processes"] = 2;
              }),
              HasSubstr("3 samples of 2 processes"));
  EXPECT_THAT(
      ErrorAfter([](Json& json) { json["cells"][2] = json["cells"][1]; }),
      HasSubstr("cells[2]: is there twice"));
  EXPECT_THAT(ErrorAfter([](Json& json) {
                json["cells"][0]["point"] = "0000000000000000";
              }),
              HasSubstr("its point is none of context.points"));
}

TEST(ResultReader, NamesAFileThatIsNotThere) {
  try {
    ReadResult(StandardAxes(), "no/such.json");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no/such.json: cannot be read"));
  }
}

}  // namespace
}  // namespace attnbench
