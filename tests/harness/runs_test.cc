// Guards against a result of several runs that tells only of the first: a busy
// second run, a clock that differs from shard to shard, dates that are lost.
#include "harness/runs.h"

#include <gmock/gmock.h>

#include "harness/calibration.h"
#include "tests/support/made_up_results.h"

namespace attnbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MadeUpCell;
using testing::MadeUpResult;

using Texts = std::vector<std::string>;

Json Entry(const std::string& date, const Texts& reasons,
           const Texts& warnings) {
  return RunEntry({{"date", date},
                   {"command", "run-sweep"},
                   {"load", 0.5},
                   {"load_end", nullptr},
                   {"invalid_reasons", reasons},
                   {"warnings", warnings}},
                  3600, nullptr);
}

Json Judged(const std::vector<Json>& runs, const std::string& missing = "",
            const Json& calibration = Json::array()) {
  Json context = {{"runs", runs}, {"calibration", calibration}};
  JudgeRuns(missing, context);
  EXPECT_EQ(context["valid"], context["invalid_reasons"].empty());
  return context;
}

Texts Reasons(const Json& context) { return context["invalid_reasons"]; }
Texts Warnings(const Json& context) { return context["warnings"]; }

TEST(Runs, OneRunSpeaksForItself) {
  const Json context = Judged({Entry("1st", {"a debug build"}, {"dirty"})});
  EXPECT_THAT(Reasons(context), ElementsAre("a debug build"));
  EXPECT_THAT(Warnings(context), ElementsAre("dirty"));
}

TEST(Runs, WhatIsOfSomeNamesThemAndWhatIsOfAllIsToldOnce) {
  Json third = Entry("3rd", {"busy"}, {"dirty"});
  third["file"] = "c.json";
  const Json context =
      Judged({Entry("1st", {}, {"dirty"}),
              Entry("2nd", {"busy"}, {"dirty", "turbo"}), third});
  EXPECT_THAT(Reasons(context),
              ElementsAre("run of 2nd: busy", "c.json: busy"));
  EXPECT_THAT(Warnings(context), ElementsAre("dirty", "run of 2nd: turbo"));
}

TEST(Runs, TheLoadIsTheWorst) {
  std::vector<Json> runs(3, Entry("1st", {}, {}));
  runs[1]["load"] = 7.5;
  runs[2]["load"] = nullptr;
  Json context = Judged(runs);
  EXPECT_EQ(context["load"], 7.5);
  EXPECT_TRUE(context["load_end"].is_null());
  runs[2]["load_end"] = 0.25;
  runs[0]["load_end"] = 0.125;
  EXPECT_EQ(Judged(runs)["load_end"], 0.25);
}

TEST(Runs, DriftIsJudgedOverThePointsOfAll) {
  const std::vector<double> slow(10, 120.0), fast(10, 100.0);
  const Json a = CalibrationJson("a", fast), b = CalibrationJson("b", slow);
  const std::vector<Json> runs(2, Entry("1st", {}, {}));
  EXPECT_THAT(Reasons(Judged(runs, "", Json::array({a}))), IsEmpty());
  EXPECT_THAT(Reasons(Judged(runs, "", Json::array({a, b}))),
              ElementsAre(HasSubstr("drifted by 20.0 % between points")));
}

TEST(Runs, MissingPointsAreTheLastReason) {
  EXPECT_THAT(Reasons(Judged({Entry("1st", {"busy"}, {})}, "3 of 12 points")),
              ElementsAre("busy", "3 of 12 points"));
}

TEST(Runs, JudgingAgainGivesTheSame) {
  Json context =
      Judged({Entry("1st", {"busy"}, {}), Entry("2nd", {}, {"turbo"})});
  const Json once = context;
  JudgeRuns("", context);
  EXPECT_EQ(context, once);
}

TEST(Runs, AResultThatSaysNothingOfThemIsOfOne) {
  Json document = MadeUpResult("a.json", {MadeUpCell("soft", 9, {1.0}),
                                          MadeUpCell("mocha", 9, {1.0}),
                                          MadeUpCell("soft", 8, {1.0})})
                      .json;
  document["context"]["warnings"] = {"dirty"};
  const Json runs = RunsOf(document);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0]["date"], document["context"]["date"]);
  EXPECT_EQ(runs[0]["load"], 0.25);
  EXPECT_THAT(Warnings(runs[0]), ElementsAre("dirty"));
  EXPECT_EQ(runs[0]["points"], document["context"]["points"]);
  document["context"]["runs"] = Json::array({Entry("1st", {}, {})});
  EXPECT_EQ(RunsOf(document), document["context"]["runs"]);
}

}  // namespace
}  // namespace attnbench
