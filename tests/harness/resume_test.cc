// Guards against a resumed run that takes what another machine, program or
// sweep has measured, measures again what is there, or forgets the runs before.
#include "harness/resume.h"

#include <gmock/gmock.h>

#include "harness/error.h"
#include "harness/fingerprint.h"
#include "harness/runs.h"

namespace attnbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::set<std::string> kWanted = {"a", "b", "c"};

Json Context(const std::string& date) {
  return {{"cpu", "x"},
          {"build_id", "1"},
          {"date", date},
          {"command", "run-sweep"},
          {"load", 0.5},
          {"invalid_reasons", Json::array()},
          {"warnings", Json::array()}};
}

// A run as it is judged when its load is that.
Json Entry(const std::string& date, double load_end) {
  Json context = Context(date);
  context["load_end"] = load_end;
  return RunEntry(context, 60, nullptr);
}

Json Cells(const std::string& hash) {
  return Json::array({{{"point", hash}, {"mechanism", "soft"}},
                      {{"point", hash}, {"mechanism", "mocha"}}});
}

Json Calibration(const std::string& hash) {
  return {{"point", hash}, {"median_ns", 1}};
}

Json Point(const std::string& hash, const Json& run) {
  return PointRecord(hash,
                     {.cells = Cells(hash), .calibration = Calibration(hash)},
                     run, FingerprintHash(Context("any")));
}

JournalContents TwoRuns() {
  return {
      .records = {RunRecord(Context("1st"), false), Point("a", Entry("1st", 1)),
                  RunRecord(Context("2nd"), false), Point("b", Entry("2nd", 2)),
                  Point("another", Entry("2nd", 3))},
      .num_spoiled = 0};
}

// Of two runs, of which the second measured point c.
Json Result() {
  Json context = Context("0th");
  context["runs"] = {Entry("0th", 4), Entry("later", 5)};
  context["runs"][0]["points"] = {"gone"};
  context["runs"][1]["points"] = {"c"};
  context["calibration"] = Json::array({Calibration("c")});
  return {{"kind", "sweep"}, {"context", context}, {"cells", Cells("c")}};
}

std::vector<std::string> Hashes(const Finished& finished) {
  std::vector<std::string> hashes;
  for (const auto& [hash, record] : finished.points) hashes.push_back(hash);
  return hashes;
}

std::string DateOf(const Finished& finished, const std::string& hash) {
  return finished.runs.at(finished.points.at(hash).run).at("date");
}

TEST(Resume, TakesWhatTheJournalHasOfThisSweep) {
  Finished finished;
  TakeJournal(TwoRuns(), kWanted, Context("now"), finished);
  EXPECT_THAT(Hashes(finished), ElementsAre("a", "b"));
  EXPECT_EQ(finished.points["b"].cells, Cells("b"));
  EXPECT_EQ(finished.points["b"].calibration, Calibration("b"));
  EXPECT_THAT(finished.others, ElementsAre("another"));
  EXPECT_EQ(finished.context, Context("1st"));
}

TEST(Resume, KnowsEveryRunAsItWasJudgedLast) {
  JournalContents journal = TwoRuns();
  journal.records.push_back(Point("c", Entry("2nd", 7)));
  Finished finished;
  TakeJournal(journal, kWanted, Context("now"), finished);
  EXPECT_THAT(finished.runs, ElementsAre(Entry("1st", 1), Entry("2nd", 7)));
  EXPECT_EQ(DateOf(finished, "a"), "1st");
  EXPECT_EQ(DateOf(finished, "b"), "2nd");
}

TEST(Resume, RunsOfTheSameSecondAreTwo) {
  JournalContents journal = TwoRuns();
  journal.records[2] = RunRecord(Context("1st"), false);
  journal.records[3] = Point("b", Entry("1st", 2));
  Finished finished;
  TakeJournal(journal, kWanted, Context("now"), finished);
  EXPECT_THAT(finished.runs, ElementsAre(Entry("1st", 1), Entry("1st", 2)));
}

TEST(Resume, TakesTheSameFromAResult) {
  Finished finished;
  TakeResult(Result(), "r.json", kWanted, Context("now"), finished);
  TakeJournal(TwoRuns(), kWanted, Context("now"), finished);
  EXPECT_THAT(Hashes(finished), ElementsAre("a", "b", "c"));
  EXPECT_EQ(finished.points["c"].cells, Cells("c"));
  EXPECT_EQ(finished.points["c"].calibration, Calibration("c"));
  EXPECT_EQ(finished.context->at("date"), "0th");
  EXPECT_EQ(DateOf(finished, "c"), "later");
  EXPECT_EQ(DateOf(finished, "b"), "2nd");
}

TEST(Resume, APointThatWasMeasuredAgainIsTheLaterOne) {
  JournalContents journal = TwoRuns();
  journal.records.push_back(Point("c", Entry("2nd", 7)));
  Finished finished;
  TakeResult(Result(), "r.json", kWanted, Context("now"), finished);
  TakeJournal(journal, kWanted, Context("now"), finished);
  EXPECT_EQ(DateOf(finished, "c"), "2nd");
}

TEST(Resume, TakesNothingFromAnotherMachine) {
  Json other = Context("now");
  other["cpu"] = "y";
  Finished finished;
  TakeResult(Result(), "r.json", kWanted, other, finished);
  TakeJournal(TwoRuns(), kWanted, other, finished);
  EXPECT_TRUE(finished.points.empty());
  EXPECT_THAT(finished.runs, IsEmpty());
  EXPECT_FALSE(finished.context.has_value());
  EXPECT_THAT(finished.others, ElementsAre("a", "another", "b", "c"));
  EXPECT_EQ(finished.difference, "cpu was \"x\" and is \"y\"");
}

TEST(Resume, TakesNothingFromAResultOfSeveralMachines) {
  Json merged = Result();
  merged["context"]["runs"][0]["differs"] = {{"cpu", "y"}};
  Finished finished;
  TakeResult(merged, "r.json", kWanted, Context("now"), finished);
  EXPECT_TRUE(finished.points.empty());
  EXPECT_EQ(finished.difference, R"(cpu was ["y","x"] and is "x")");
}

JournalContents TwoRunsWhoseLinesAreSpoiled() {
  JournalContents journal = TwoRuns();
  journal.records.erase(journal.records.begin() + 2);
  journal.records.erase(journal.records.begin());
  return journal;
}

TEST(Resume, TakesPointsWhoseRunIsSpoiled) {
  Finished finished;
  TakeJournal(TwoRunsWhoseLinesAreSpoiled(), kWanted, Context("now"), finished);
  EXPECT_THAT(Hashes(finished), ElementsAre("a", "b"));
  EXPECT_THAT(finished.runs, ElementsAre(Entry("1st", 1), Entry("2nd", 2)));
}

TEST(Resume, TakesNoPointOfAnotherMachineWhoseRunIsSpoiled) {
  Json other = Context("now");
  other["cpu"] = "y";
  Finished finished;
  TakeJournal(TwoRunsWhoseLinesAreSpoiled(), kWanted, other, finished);
  EXPECT_TRUE(finished.points.empty());
  EXPECT_THAT(finished.others, ElementsAre("a", "another", "b"));
}

TEST(Resume, APointWhoseRunIsSpoiledIsNotOfTheRunBeforeIt) {
  // The first run was another machine's.
  JournalContents journal = TwoRuns();
  journal.records[0]["run"]["context"]["cpu"] = "y";
  journal.records[1].erase("machine");
  journal.records.erase(journal.records.begin() + 2);
  Finished finished;
  TakeJournal(journal, kWanted, Context("now"), finished);
  EXPECT_THAT(Hashes(finished), ElementsAre("b"));
  EXPECT_FALSE(finished.context.has_value());
  EXPECT_THAT(finished.others, ElementsAre("a", "another"));
}

TEST(Resume, KeepsTheLimitsOfEveryRun) {
  const auto limits = [](const char* precision) {
    return Json{{"precision", precision}, {"threads", 1}};
  };
  JournalContents journal = TwoRuns();
  journal.records[0]["run"]["context"]["limits"] = Json::array({limits("f32")});
  journal.records[2]["run"]["context"]["limits"] = {limits("f32"),
                                                    limits("f64")};
  Finished finished;
  TakeJournal(journal, kWanted, Context("now"), finished);
  EXPECT_EQ(finished.limits, Json::array({limits("f32"), limits("f64")}));
}

TEST(Resume, KnowsWhatAJournalIsOf) {
  EXPECT_TRUE(HasPoints(TwoRuns()));
  EXPECT_FALSE(HasPoints({.records = {RunRecord(Context("1st"), true)}}));
  EXPECT_FALSE(ContinuesResult(TwoRuns()));
  EXPECT_TRUE(ContinuesResult({.records = {RunRecord(Context("1st"), true)}}));
  EXPECT_TRUE(ContinuesResult({}));
}

TEST(Resume, RefusesWhatIsNoSweep) {
  Json of_no_run = Result();
  of_no_run["context"]["runs"][1]["points"] = Json::array();
  for (const Json& document :
       {Json({{"kind", "verify"}}), Json::object(), Json(3),
        Json({{"kind", "sweep"}, {"context", 1}, {"cells", 2}}), of_no_run}) {
    Finished finished;
    try {
      TakeResult(document, "r.json", kWanted, Context("now"), finished);
      ADD_FAILURE() << document;
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), HasSubstr("r.json: is no result of a sweep"));
    }
  }
}

}  // namespace
}  // namespace attnbench
