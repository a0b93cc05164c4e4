#include "harness/campaign/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/error.h"
#include "harness/machine/calibration.h"
#include "harness/machine/fingerprint.h"
#include "harness/machine/roofline.h"
#include "mechanisms/common/check.h"

namespace attnbench {
namespace {

// Whether points that were measured in context `theirs` may be taken.
bool IsSameMachine(const SweepContext& theirs, const SweepContext& ours,
                   Finished& finished) {
  const std::string difference = DifferenceText(theirs, ours);
  if (!difference.empty()) {
    finished.difference = difference;
    return false;
  }
  AddLimits(theirs.limits, finished.limits);
  return true;
}

void AddFinishedPoint(const std::string& hash, FinishedPoint point,
                      Finished& finished) {
  finished.points[hash] = std::move(point);
  finished.others.erase(hash);
}

void AddOtherPoint(const std::string& hash, Finished& finished) {
  if (!finished.points.contains(hash)) finished.others.insert(hash);
}

bool IsPlanned(const ResultCell& cell, const Cell& planned) {
  return planned.mechanism == cell.mechanism && planned.axes == cell.axes &&
         planned.options == cell.options;
}

// Whether `next` has the cells that are left of a point.
bool GoesOn(const FinishedPoint& before, const FinishedPoint& next,
            const Point& planned) {
  std::vector<std::string> left, given;
  for (const ResultCell& cell : before.cells) {
    if (cell.is_ok()) left.push_back(cell.Key());
  }
  for (const ResultCell& cell : next.cells) given.push_back(cell.Key());
  return before.cells.size() == planned.cells.size() && left == given;
}

}  // namespace

FinishedPoint PartOf(const MeasuredPoint& measured, const std::string& hash,
                     int process, std::int64_t processes) {
  FinishedPoint part{.cells = measured.cells, .calibration = {}, .runs = {}};
  for (ResultCell& cell : part.cells) {
    cell.point = hash;
    // No other process will measure it.
    if (!cell.is_ok() && process == 0) cell.processes = processes;
  }
  // Without a finished cell nobody looked at the clock.
  if (!measured.rounds.times.empty()) {
    part.calibration = CalibrationOf(hash, measured.rounds);
  }
  return part;
}

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

void AddPointsOfResult(const SweepResult& result, const std::string& path,
                       const WantedPoints& wanted, const SweepContext& context,
                       Finished& finished) {
  if (!IsSameMachine(result.context, context, finished)) {
    for (const ResultCell& cell : result.cells) {
      AddOtherPoint(cell.point, finished);
    }
    return;
  }
  FinishedPoints theirs;
  AddResult(result, path, theirs);
  for (auto& [hash, point] : theirs.points) {
    if (!wanted.contains(hash)) {
      AddOtherPoint(hash, finished);
      continue;
    }
    if (!finished.context) finished.context = result.context;
    AddFinishedPoint(hash, std::move(point), finished);
  }
  finished.runs = std::move(theirs.runs);
}

void AddPointsOfJournal(const JournalContents& journal,
                        const WantedPoints& wanted, const ProcessPlan& plan,
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
    const auto planned = wanted.find(point.hash);
    // The point itself names its machine, as the line of its run may be
    // spoiled.
    if (point.machine != machine || planned == wanted.end()) {
      AddOtherPoint(point.hash, finished);
      continue;
    }
    // A run whose own line is spoiled is known by its date.
    if (run_is_new || finished.runs.back().date != point.run.date) {
      finished.runs.push_back(point.run);
    } else {
      finished.runs.back() = point.run;
    }
    run_is_new = false;
    if (!finished.context && of_run != nullptr) finished.context = *of_run;
    const FinishedPoint measured = {.cells = point.cells,
                                    .calibration = point.calibration,
                                    .runs = {finished.runs.size() - 1}};
    if (point.process == 0) {
      AddFinishedPoint(point.hash, measured, finished);
      continue;
    }
    const auto before = finished.points.find(point.hash);
    if (before != finished.points.end() &&
        before->second.Processes(plan.processes) == point.process &&
        GoesOn(before->second, measured, *planned->second)) {
      AddProcess(measured, *planned->second, plan, before->second);
    }
  }
}

void CheckPlanned(const FinishedPoint& finished, const Point& planned,
                  const std::string& path) {
  auto next = planned.cells.begin();
  for (const ResultCell& cell : finished.cells) {
    next = std::find_if(next, planned.cells.end(),
                        [&](const Cell& one) { return IsPlanned(cell, one); });
    if (next == planned.cells.end()) {
      throw UserError(path, fmt::format("has a cell of {} in point {} that is "
                                        "none of that point, or not in its "
                                        "place",
                                        cell.mechanism, cell.point));
    }
    ++next;
  }
}

}  // namespace attnbench
