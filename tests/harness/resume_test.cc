// Guards against a resumed run that takes what another machine, program or
// sweep has measured, or measures again what is there.
#include "harness/resume.h"

#include <gmock/gmock.h>

#include "harness/error.h"

namespace attnbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::set<std::string> kWanted = {"a", "b", "c"};

Json Context(const std::string& date) {
  return {{"cpu", "x"}, {"build_id", "1"}, {"date", date}, {"load", date}};
}

Json Cells(const std::string& hash) {
  return Json::array({{{"point", hash}, {"mechanism", "soft"}},
                      {{"point", hash}, {"mechanism", "mocha"}}});
}

Json Calibration(const std::string& hash) {
  return {{"point", hash}, {"median_ns", 1}};
}

Json Point(const std::string& hash) {
  return PointRecord(hash, Cells(hash), Calibration(hash));
}

JournalContents TwoRuns() {
  return {.records = {RunRecord(Context("1st"), false), Point("a"),
                      RunRecord(Context("2nd"), false), Point("b"),
                      Point("another")},
          .num_spoiled = 0};
}

Json Result() {
  Json context = Context("0th");
  context["resumed"] = {"later"};
  context["calibration"] = Json::array({Calibration("c")});
  return {{"kind", "sweep"}, {"context", context}, {"cells", Cells("c")}};
}

std::vector<std::string> Hashes(const Finished& finished) {
  std::vector<std::string> hashes;
  for (const auto& [hash, record] : finished.points) hashes.push_back(hash);
  return hashes;
}

TEST(Resume, TakesWhatTheJournalHasOfThisSweep) {
  Finished finished;
  TakeJournal(TwoRuns(), kWanted, Context("now"), finished);
  EXPECT_THAT(Hashes(finished), ElementsAre("a", "b"));
  EXPECT_EQ(finished.points["b"], Point("b"));
  EXPECT_EQ(finished.num_others, 1U);
  EXPECT_EQ(finished.context, Context("1st"));
  EXPECT_THAT(finished.resumed, ElementsAre("2nd"));
}

TEST(Resume, TakesTheSameFromAResult) {
  Finished finished;
  TakeResult(Result(), "r.json", kWanted, Context("now"), finished);
  TakeJournal(TwoRuns(), kWanted, Context("now"), finished);
  EXPECT_THAT(Hashes(finished), ElementsAre("a", "b", "c"));
  EXPECT_EQ(finished.points["c"], Point("c"));
  EXPECT_EQ(finished.context->at("date"), "0th");
  EXPECT_THAT(finished.resumed, ElementsAre("1st", "2nd", "later"));
}

TEST(Resume, TakesNothingFromAnotherMachine) {
  Json other = Context("now");
  other["cpu"] = "y";
  Finished finished;
  TakeResult(Result(), "r.json", kWanted, other, finished);
  TakeJournal(TwoRuns(), kWanted, other, finished);
  EXPECT_TRUE(finished.points.empty());
  EXPECT_FALSE(finished.context.has_value());
  EXPECT_EQ(finished.num_others, 4U);
  EXPECT_EQ(finished.difference, "cpu was \"x\" and is \"y\"");
}

TEST(Resume, TakesPointsWhoseRunIsSpoiled) {
  JournalContents journal = TwoRuns();
  journal.records.erase(journal.records.begin());
  Finished finished;
  TakeJournal(journal, kWanted, Context("now"), finished);
  EXPECT_THAT(Hashes(finished), ElementsAre("a", "b"));
}

TEST(Resume, KnowsWhatAJournalIsOf) {
  EXPECT_TRUE(HasPoints(TwoRuns()));
  EXPECT_FALSE(HasPoints({.records = {RunRecord(Context("1st"), true)}}));
  EXPECT_FALSE(ContinuesResult(TwoRuns()));
  EXPECT_TRUE(ContinuesResult({.records = {RunRecord(Context("1st"), true)}}));
  EXPECT_TRUE(ContinuesResult({}));
}

TEST(Resume, RefusesWhatIsNoSweep) {
  for (const Json& document :
       {Json({{"kind", "verify"}}), Json::object(), Json(3),
        Json({{"kind", "sweep"}, {"context", 1}, {"cells", 2}})}) {
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
