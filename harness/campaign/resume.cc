#include "harness/campaign/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/error.h"
#include "harness/machine/fingerprint.h"
#include "harness/machine/roofline.h"

namespace attnbench {
namespace {

// Whether points that were measured in context `theirs` may be taken.
bool IsSameMachine(const SweepContext& theirs, const SweepContext& ours,
                   Finished& finished) {
  const auto differences = FingerprintDifferences(theirs, ours);
  if (!differences.empty()) {
    const FingerprintDifference& first = differences[0];
    finished.difference = fmt::format("{} was {} and is {}", first.field,
                                      first.a.dump(), first.b.dump());
    return false;
  }
  AddLimits(theirs.limits, finished.limits);
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

// Adds the result's runs to those of `finished`. Gives each point's run there.
std::map<std::string, std::size_t> TakeRuns(const SweepResult& result,
                                            Finished& finished) {
  std::map<std::string, std::size_t> run_of;
  for (Run& run : RunsOf(result)) {
    for (const std::string& point : run.points) {
      run_of[point] = finished.runs.size();
    }
    run.points.clear();
    finished.runs.push_back(std::move(run));
  }
  return run_of;
}

}  // namespace

bool HasPoints(const JournalContents& journal) {
  return std::ranges::any_of(journal.records, [](const JournalRecord& record) {
    return record.point.has_value();
  });
}

bool ContinuesResult(const JournalContents& journal) {
  for (const JournalRecord& record : journal.records) {
    if (record.run) return record.run->continues_result;
  }
  return true;
}

void TakeResult(const SweepResult& result, const std::string& path,
                const std::set<std::string>& wanted,
                const SweepContext& context, Finished& finished) {
  const SweepContext& theirs = result.context;
  const bool may_take = IsSameMachine(theirs, context, finished);
  std::map<std::string, std::size_t> run_of;
  if (may_take) run_of = TakeRuns(result, finished);
  std::map<std::string, FinishedPoint> points;
  for (const ResultCell& cell : result.cells) {
    FinishedPoint& point = points[cell.point];
    point.cells.push_back(cell);
    if (!may_take) continue;
    const auto run = run_of.find(cell.point);
    if (run == run_of.end()) {
      throw UserError(path, "has point " + cell.point +
                                ", which none of context.runs has, so no run "
                                "can go on from it; --force replaces it");
    }
    point.run = run->second;
  }
  for (const Calibration& entry : theirs.calibration) {
    const auto point = points.find(entry.point);
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
}

void TakeJournal(const JournalContents& journal,
                 const std::set<std::string>& wanted,
                 const SweepContext& context, Finished& finished) {
  const std::string machine = FingerprintHash(context);
  // Stays null where the run was on another machine or its line is spoiled.
  const SweepContext* of_run = nullptr;
  bool run_is_new = true;
  for (const JournalRecord& record : journal.records) {
    if (record.run) {
      const SweepContext& theirs = record.run->context;
      of_run = IsSameMachine(theirs, context, finished) ? &theirs : nullptr;
      run_is_new = true;
      continue;
    }
    const PointRecord& point = *record.point;
    // The point itself names its machine, as the line of its run may be
    // spoiled.
    if (point.machine != machine || !wanted.contains(point.hash)) {
      LeavePoint(point.hash, finished);
      continue;
    }
    if (run_is_new || finished.runs.back().date != point.run.date) {
      finished.runs.push_back(point.run);
    } else {
      finished.runs.back() = point.run;
    }
    run_is_new = false;
    if (!finished.context && of_run != nullptr) finished.context = *of_run;
    TakePoint(point.hash,
              {.cells = point.cells,
               .calibration = point.calibration,
               .run = finished.runs.size() - 1},
              finished);
  }
}

void CheckPlanned(const FinishedPoint& finished, const Point& planned,
                  const std::string& path) {
  auto next = planned.cells.begin();
  for (const ResultCell& cell : finished.cells) {
    next = std::find_if(next, planned.cells.end(), [&](const Cell& one) {
      return one.mechanism == cell.mechanism && one.axes == cell.axes &&
             one.options == cell.options;
    });
    if (next == planned.cells.end()) {
      throw UserError(path,
                      fmt::format("has a cell of {} in point {} that is none "
                                  "of that point, or not in its place, so no "
                                  "run can go on from it; --force replaces it",
                                  cell.mechanism, cell.point));
    }
    ++next;
  }
}

}  // namespace attnbench
