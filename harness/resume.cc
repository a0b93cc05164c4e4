#include "harness/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/error.h"
#include "harness/fingerprint.h"
#include "harness/roofline.h"
#include "harness/runs.h"

namespace attnbench {
namespace {

// Whether points of a run with that context may be taken.
bool IsSameMachine(const Json& theirs, const Json& ours, Finished& finished) {
  const auto differences = FingerprintDifferences(theirs, ours);
  if (!differences.empty()) {
    const FingerprintDifference& first = differences[0];
    finished.difference = fmt::format("{} was {} and is {}", first.field,
                                      first.a.dump(), first.b.dump());
    return false;
  }
  AddLimits(theirs.value("limits", Json::array()), finished.limits);
  return true;
}

void TakePoint(const std::string& hash, FinishedPoint point,
               Finished& finished) {
  finished.points[hash] = std::move(point);
  finished.others.erase(hash);
}

void LeavePoint(const std::string& hash, Finished& finished) {
  if (!finished.points.contains(hash)) finished.others.insert(hash);
}

UserError NoResult(const std::string& path) {
  return {path,
          "is no result of a sweep as this program writes it, so no run can go "
          "on from it; --force replaces it"};
}

// Adds the result's runs to those of `finished`. Gives point -> its run there.
std::map<std::string, std::size_t> TakeRuns(const Json& document,
                                            Finished& finished) {
  std::map<std::string, std::size_t> run_of;
  for (Json& run : RunsOf(document)) {
    for (const Json& point : run.at("points")) {
      run_of[point.get<std::string>()] = finished.runs.size();
    }
    run["points"] = Json::array();
    finished.runs.push_back(std::move(run));
  }
  return run_of;
}

}  // namespace

Json RunRecord(const Json& context, bool continues_result) {
  return {
      {"run", {{"context", context}, {"continues_result", continues_result}}}};
}

Json PointRecord(const std::string& hash, const FinishedPoint& point,
                 const Json& run, const std::string& machine) {
  return {{"point", hash},
          {"cells", point.cells},
          {"calibration", point.calibration},
          {"run", run},
          {"machine", machine}};
}

bool HasPoints(const JournalContents& journal) {
  return std::any_of(
      journal.records.begin(), journal.records.end(),
      [](const Json& record) { return record.contains("point"); });
}

bool ContinuesResult(const JournalContents& journal) {
  for (const Json& record : journal.records) {
    if (!record.contains("point")) return record["run"].at("continues_result");
  }
  return true;
}

void TakeResult(const Json& document, const std::string& path,
                const std::set<std::string>& wanted, const Json& context,
                Finished& finished) {
  try {
    if (document.at("kind") != "sweep") {
      throw UserError(path,
                      "is no result of a sweep, so no run of one can go "
                      "on from it; --force replaces it");
    }
    const Json& theirs = document.at("context");
    const bool may_take = IsSameMachine(theirs, context, finished);
    const std::map<std::string, std::size_t> run_of =
        may_take ? TakeRuns(document, finished)
                 : std::map<std::string, std::size_t>();
    std::map<std::string, FinishedPoint> points;
    for (const Json& cell : document.at("cells")) {
      const auto hash = cell.at("point").get<std::string>();
      FinishedPoint& point = points[hash];
      if (may_take && !run_of.contains(hash)) throw NoResult(path);
      if (may_take) point.run = run_of.at(hash);
      point.cells.push_back(cell);
    }
    for (const Json& entry : theirs.at("calibration")) {
      const auto point = points.find(entry.at("point").get<std::string>());
      if (point != points.end()) point->second.calibration = entry;
    }
    for (auto& [hash, point] : points) {
      if (!may_take || !wanted.contains(hash)) {
        LeavePoint(hash, finished);
        continue;
      }
      if (!finished.context) finished.context = theirs;
      TakePoint(hash, std::move(point), finished);
    }
  } catch (const Json::exception&) {
    throw NoResult(path);
  }
}

void TakeJournal(const JournalContents& journal,
                 const std::set<std::string>& wanted, const Json& context,
                 Finished& finished) {
  const std::string machine = FingerprintHash(context);
  // Null: of another machine, or the line is spoiled.
  const Json* of_run = nullptr;
  bool run_is_new = true;
  for (const Json& record : journal.records) {
    if (!record.contains("point")) {
      const Json& theirs = record["run"].at("context");
      of_run = IsSameMachine(theirs, context, finished) ? &theirs : nullptr;
      run_is_new = true;
      continue;
    }
    const auto hash = record["point"].get<std::string>();
    // The point speaks for itself: the line of its run may be spoiled.
    const bool may_take = record.value("machine", Json()) == machine;
    if (!may_take || !wanted.contains(hash)) {
      LeavePoint(hash, finished);
      continue;
    }
    const Json& run = record.at("run");
    if (run_is_new || finished.runs.back().at("date") != run.at("date")) {
      finished.runs.push_back(run);
    } else {
      finished.runs.back() = run;
    }
    run_is_new = false;
    if (!finished.context && of_run != nullptr) finished.context = *of_run;
    TakePoint(hash,
              {.cells = record.at("cells"),
               .calibration = record.at("calibration"),
               .run = finished.runs.size() - 1},
              finished);
  }
}

}  // namespace attnbench
