// Guards against a resumed run that takes what another machine, program or
// sweep has measured, measures again what is there, or forgets the runs before.
#include "harness/campaign/resume.h"

#include <gmock/gmock.h>

#include <functional>

#include "harness/base/error.h"
#include "harness/machine/fingerprint.h"
#include "tests/support/error_text.h"
#include "tests/support/made_up_results.h"

namespace attnbench {
namespace {

using Members = std::map<std::string, Json>;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kProcesses = 3;
constexpr ProcessPlan kPlan{.processes = kProcesses};

SweepContext ContextOf(const std::string& date) {
  SweepContext context;
  context.cpu = "x";
  context.build_id = "1";
  context.date = date;
  context.command = "run-sweep";
  context.load = 0.5;
  return context;
}

// A run as it is judged with that load.
MeasuringRun Entry(const std::string& date, double load_end) {
  SweepContext context = ContextOf(date);
  context.load_end = load_end;
  return RunOf(context, 60, std::nullopt);
}

std::vector<ResultCell> Cells(const std::string& hash) {
  std::vector<ResultCell> cells;
  for (const char* mechanism : {"soft", "mocha"}) {
    cells.push_back(testing::MadeUpResultCell(mechanism, 1, {1.0}));
    cells.back().point = hash;
  }
  return cells;
}

// Made on first use: names of mechanisms in other files may not be there before
// main.
const attnbench::Point& Planned() {
  static const attnbench::Point planned = [] {
    attnbench::Point made;
    for (const ResultCell& cell : Cells("a")) {
      Cell& one = made.cells.emplace_back();
      one.mechanism = cell.mechanism;
      one.axes = cell.axes;
      one.options = cell.options;
    }
    return made;
  }();
  return planned;
}

WantedPoints Wanted() {
  return {{"a", &Planned()}, {"b", &Planned()}, {"c", &Planned()}};
}

Calibration ClockOf(const std::string& hash) {
  return {.point = hash, .samples_ns = {1}, .median_ns = 1, .deviation = 0};
}

JournalRecord RunBegins(const SweepContext& context,
                        bool continues_result = false) {
  return {.run = RunRecord{context, continues_result}};
}

JournalRecord Point(const std::string& hash, const MeasuringRun& run,
                    int process = 0) {
  return {.point = PointRecord{hash, process, Cells(hash), ClockOf(hash), run,
                               FingerprintHash(ContextOf("any"))}};
}

JournalContents TwoRuns() {
  return {.records = {RunBegins(ContextOf("1st")), Point("a", Entry("1st", 1)),
                      RunBegins(ContextOf("2nd")), Point("b", Entry("2nd", 2)),
                      Point("another", Entry("2nd", 3))},
          .num_spoiled = 0};
}

// The result of two runs, of which the second measured point c.
SweepResult ResultOfC() {
  SweepResult result;
  result.context = ContextOf("0th");
  result.context.runs = {Entry("0th", 4), Entry("later", 5)};
  result.context.runs[0].points = {"gone"};
  result.context.runs[1].points = {"c"};
  result.context.calibration = {ClockOf("c")};
  result.cells = Cells("c");
  return result;
}

std::vector<std::string> Hashes(const Finished& finished) {
  std::vector<std::string> hashes;
  for (const auto& [hash, record] : finished.points) hashes.push_back(hash);
  return hashes;
}

std::string DateOf(const Finished& finished, const std::string& hash) {
  return finished.runs.at(*finished.points.at(hash).runs.begin()).date;
}

// Runs are compared as JSON, so that any difference counts.
Json RunsOf(const Finished& finished) { return ToJson(finished.runs); }
Json Runs(const std::vector<MeasuringRun>& runs) { return ToJson(runs); }

TEST(Resume, TakesWhatTheJournalHasOfThisSweep) {
  Finished finished;
  AddPointsOfJournal(TwoRuns(), Wanted(), kPlan, ContextOf("now"), finished);
  EXPECT_THAT(Hashes(finished), ElementsAre("a", "b"));
  EXPECT_EQ(ToJson(finished.points["b"].cells), ToJson(Cells("b")));
  EXPECT_EQ(finished.points["b"].calibration->point, "b");
  EXPECT_THAT(finished.others, ElementsAre("another"));
  EXPECT_EQ(ToJson(*finished.context), ToJson(ContextOf("1st")));
}

TEST(Resume, JoinsWhatTheProcessesMeasuredInSeveralRuns) {
  JournalContents journal = TwoRuns();
  journal.records.push_back(Point("a", Entry("2nd", 7), 1));
  Finished finished;
  AddPointsOfJournal(journal, Wanted(), kPlan, ContextOf("now"), finished);
  const FinishedPoint& point = finished.points["a"];
  EXPECT_EQ(point.Processes(kProcesses), 2);
  EXPECT_EQ(point.cells[1].samples_ns.size(), 2U);
  EXPECT_EQ(point.calibration->samples_ns.size(), 2U);
  EXPECT_THAT(point.runs, ElementsAre(0, 1));
  EXPECT_EQ(finished.points["b"].Processes(kProcesses), 1);
}

TEST(Resume, GoesOnFromAPointOfAResultThatNotAllProcessesHaveMeasured) {
  JournalContents journal = {.records = {RunBegins(ContextOf("3rd"), true),
                                         Point("c", Entry("3rd", 7), 1)}};
  Finished finished;
  AddPointsOfResult(ResultOfC(), "r.json", Wanted(), ContextOf("now"),
                    finished);
  AddPointsOfJournal(journal, Wanted(), kPlan, ContextOf("now"), finished);
  EXPECT_EQ(finished.points["c"].Processes(kProcesses), 2);
  EXPECT_THAT(finished.points["c"].runs, ElementsAre(1, 2));
}

TEST(Resume, TakesNoProcessAfterOneThatIsLost) {
  JournalContents journal = TwoRuns();
  journal.records.push_back(Point("a", Entry("2nd", 7), 2));
  journal.records.push_back(Point("c", Entry("2nd", 7), 1));
  JournalRecord of_one_cell = Point("b", Entry("2nd", 7), 1);
  of_one_cell.point->cells.pop_back();
  journal.records.push_back(of_one_cell);
  Finished finished;
  AddPointsOfJournal(journal, Wanted(), kPlan, ContextOf("now"), finished);
  EXPECT_THAT(Hashes(finished), ElementsAre("a", "b"));
  EXPECT_EQ(finished.points["a"].Processes(kProcesses), 1);
  EXPECT_EQ(finished.points["b"].Processes(kProcesses), 1);
}

TEST(Resume, APointWithoutACellThatIsLeftIsMeasuredByAllProcesses) {
  FinishedPoint point{.cells = Cells("a"), .calibration = {}, .runs = {0}};
  point.cells[0] = FailedCell(Planned().cells[0], CellStatus::kError, "x");
  EXPECT_EQ(point.Processes(kProcesses), 1);
  FinishedPoint next{.cells = Cells("a"), .calibration = {}, .runs = {1}};
  next.cells.erase(next.cells.begin());
  AddProcess(next, Planned(), kPlan, point);
  EXPECT_EQ(point.cells[0].status, CellStatus::kError);
  EXPECT_EQ(point.cells[1].processes, 2);
  next.cells[0] = FailedCell(Planned().cells[1], CellStatus::kError, "y");
  AddProcess(next, Planned(), kPlan, point);
  EXPECT_EQ(point.Processes(kProcesses), kProcesses);
}

TEST(Resume, KnowsEveryRunAsItWasJudgedLast) {
  JournalContents journal = TwoRuns();
  journal.records.push_back(Point("c", Entry("2nd", 7)));
  Finished finished;
  AddPointsOfJournal(journal, Wanted(), kPlan, ContextOf("now"), finished);
  EXPECT_EQ(RunsOf(finished), Runs({Entry("1st", 1), Entry("2nd", 7)}));
  EXPECT_EQ(DateOf(finished, "a"), "1st");
  EXPECT_EQ(DateOf(finished, "b"), "2nd");
}

TEST(Resume, RunsOfTheSameSecondAreTwo) {
  JournalContents journal = TwoRuns();
  journal.records[2] = RunBegins(ContextOf("1st"));
  journal.records[3] = Point("b", Entry("1st", 2));
  Finished finished;
  AddPointsOfJournal(journal, Wanted(), kPlan, ContextOf("now"), finished);
  EXPECT_EQ(RunsOf(finished), Runs({Entry("1st", 1), Entry("1st", 2)}));
}

TEST(Resume, TakesTheSameFromAResult) {
  Finished finished;
  AddPointsOfResult(ResultOfC(), "r.json", Wanted(), ContextOf("now"),
                    finished);
  AddPointsOfJournal(TwoRuns(), Wanted(), kPlan, ContextOf("now"), finished);
  EXPECT_THAT(Hashes(finished), ElementsAre("a", "b", "c"));
  EXPECT_EQ(ToJson(finished.points["c"].cells), ToJson(Cells("c")));
  EXPECT_EQ(finished.points["c"].calibration->point, "c");
  EXPECT_EQ(finished.context->date, "0th");
  EXPECT_EQ(DateOf(finished, "c"), "later");
  EXPECT_EQ(DateOf(finished, "b"), "2nd");
}

TEST(Resume, APointThatWasMeasuredAgainIsTheLaterOne) {
  JournalContents journal = TwoRuns();
  journal.records.push_back(Point("c", Entry("2nd", 7)));
  Finished finished;
  AddPointsOfResult(ResultOfC(), "r.json", Wanted(), ContextOf("now"),
                    finished);
  AddPointsOfJournal(journal, Wanted(), kPlan, ContextOf("now"), finished);
  EXPECT_EQ(DateOf(finished, "c"), "2nd");
}

TEST(Resume, TakesNothingFromAnotherMachine) {
  SweepContext other = ContextOf("now");
  other.cpu = "y";
  Finished finished;
  AddPointsOfResult(ResultOfC(), "r.json", Wanted(), other, finished);
  AddPointsOfJournal(TwoRuns(), Wanted(), kPlan, other, finished);
  EXPECT_TRUE(finished.points.empty());
  EXPECT_THAT(finished.runs, IsEmpty());
  EXPECT_FALSE(finished.context.has_value());
  EXPECT_THAT(finished.others, ElementsAre("a", "another", "b", "c"));
  EXPECT_EQ(finished.difference, "cpu was \"x\" and is \"y\"");
}

TEST(Resume, TakesNothingFromAResultOfSeveralMachines) {
  SweepResult merged = ResultOfC();
  merged.context.runs[0].differs = Members{{"cpu", "y"}};
  Finished finished;
  AddPointsOfResult(merged, "r.json", Wanted(), ContextOf("now"), finished);
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
  AddPointsOfJournal(TwoRunsWhoseLinesAreSpoiled(), Wanted(), kPlan,
                     ContextOf("now"), finished);
  EXPECT_THAT(Hashes(finished), ElementsAre("a", "b"));
  EXPECT_EQ(RunsOf(finished), Runs({Entry("1st", 1), Entry("2nd", 2)}));
}

TEST(Resume, TakesNoPointOfAnotherMachineWhoseRunIsSpoiled) {
  SweepContext other = ContextOf("now");
  other.cpu = "y";
  Finished finished;
  AddPointsOfJournal(TwoRunsWhoseLinesAreSpoiled(), Wanted(), kPlan, other,
                     finished);
  EXPECT_TRUE(finished.points.empty());
  EXPECT_THAT(finished.others, ElementsAre("a", "another", "b"));
}

TEST(Resume, APointWhoseRunIsSpoiledIsNotOfTheRunBeforeIt) {
  // The first run was on another machine.
  JournalContents journal = TwoRuns();
  journal.records[0].run->context.cpu = "y";
  journal.records[1].point->machine = "another";
  journal.records.erase(journal.records.begin() + 2);
  Finished finished;
  AddPointsOfJournal(journal, Wanted(), kPlan, ContextOf("now"), finished);
  EXPECT_THAT(Hashes(finished), ElementsAre("b"));
  EXPECT_FALSE(finished.context.has_value());
  EXPECT_THAT(finished.others, ElementsAre("a", "another"));
}

TEST(Resume, KeepsTheLimitsOfEveryRun) {
  MachineLimits f32, f64;
  f32.precision = Precision::kF32;
  f64.precision = Precision::kF64;
  JournalContents journal = TwoRuns();
  journal.records[0].run->context.limits = {f32};
  journal.records[2].run->context.limits = {f32, f64};
  Finished finished;
  AddPointsOfJournal(journal, Wanted(), kPlan, ContextOf("now"), finished);
  EXPECT_EQ(ToJson(finished.limits),
            ToJson(std::vector<MachineLimits>{f32, f64}));
}

TEST(Resume, KnowsWhatAJournalIsOf) {
  EXPECT_TRUE(HasPoints(TwoRuns()));
  EXPECT_FALSE(HasPoints({.records = {RunBegins(ContextOf("1st"), true)}}));
  EXPECT_FALSE(ContinuesResult(TwoRuns()));
  EXPECT_TRUE(
      ContinuesResult({.records = {RunBegins(ContextOf("1st"), true)}}));
  EXPECT_TRUE(ContinuesResult({}));
}

TEST(Resume, RefusesAResultWhosePointNoRunMeasured) {
  SweepResult of_no_run = ResultOfC();
  of_no_run.context.runs[1].points.clear();
  Finished finished;
  EXPECT_THAT(testing::ErrorText([&] {
                AddPointsOfResult(of_no_run, "r.json", Wanted(),
                                  ContextOf("now"), finished);
              }),
              HasSubstr("r.json: has point c, which none of"));
}

TEST(Resume, RefusesCellsThatWereNotPlanned) {
  const auto is_refused = [&](const std::function<void(FinishedPoint&)>& do_) {
    FinishedPoint finished{.cells = Cells("a"), .calibration = {}, .runs = {0}};
    do_(finished);
    try {
      CheckPlanned(finished, Planned(), "r.json");
      return false;
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), HasSubstr("r.json: has a cell of"));
      return true;
    }
  };
  EXPECT_FALSE(is_refused([](auto&) {}));
  // Such a point is measured again.
  EXPECT_FALSE(is_refused([](auto& point) { point.cells.pop_back(); }));
  EXPECT_TRUE(is_refused(
      [](auto& point) { std::swap(point.cells[0], point.cells[1]); }));
  EXPECT_TRUE(
      is_refused([](auto& point) { point.cells[0].mechanism = "sofa"; }));
  EXPECT_TRUE(
      is_refused([](auto& point) { point.cells[0].axes["batch"] = 9; }));
  EXPECT_TRUE(is_refused(
      [](auto& point) { point.cells[1].options["threshold"] = 0.7; }));
}

}  // namespace
}  // namespace attnbench
