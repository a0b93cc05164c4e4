#include "harness/campaign/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace attnbench {
namespace {

// An unknown limit counts as lower.
bool IsLower(std::optional<std::int64_t> limit, std::int64_t now) {
  return !limit || *limit < now;
}

}  // namespace

SweepState::SweepState(const Sweep& sweep, std::vector<std::string> hashes,
                       const std::optional<Shard>& shard,
                       const ProcessPlan& plan,
                       std::vector<MachineLimits> limits)
    : sweep_(sweep),
      hashes_(std::move(hashes)),
      wanted_(shard.value_or(Shard{}).Indices(hashes_.size())),
      shard_(shard),
      plan_(plan) {
  finished_.limits = std::move(limits);
}

WantedPoints SweepState::Wanted() const {
  WantedPoints wanted;
  for (const std::size_t i : wanted_) wanted[hashes_[i]] = &sweep_.points[i];
  return wanted;
}

void SweepState::AddFinished(const SweepResult& result, const std::string& path,
                             const SweepContext& context) {
  AddPointsOfResult(result, path, Wanted(), context, finished_);
  CheckFinished(path);
}

void SweepState::AddFinished(const JournalContents& journal,
                             const std::string& path,
                             const SweepContext& context) {
  AddPointsOfJournal(journal, Wanted(), plan_, context, finished_);
  CheckFinished(path);
}

void SweepState::CheckFinished(const std::string& path) const {
  for (const std::size_t i : wanted_) {
    const FinishedPoint* const point = Find(i);
    if (point != nullptr) CheckPlanned(*point, sweep_.points[i], path);
  }
}

const FinishedPoint* SweepState::Find(std::size_t i) const {
  const auto point = finished_.points.find(hashes_[i]);
  return point == finished_.points.end() ? nullptr : &point->second;
}

void SweepState::Add(std::size_t i, int process, FinishedPoint part) {
  part.runs = {finished_.runs.size() - 1};
  FinishedPoint& point = finished_.points[hashes_[i]];
  if (process == 0) point = {};
  AddProcess(part, sweep_.points[i], plan_, point);
  again_.erase(hashes_[i]);
}

std::int64_t SweepState::Processes(std::size_t i) const {
  const FinishedPoint* const point = Find(i);
  if (point == nullptr || again_.contains(hashes_[i])) return 0;
  return point->Processes(plan_.processes);
}

std::span<const ResultCell> SweepState::CellsOf(std::size_t i) const {
  const FinishedPoint* const point = Find(i);
  if (point == nullptr) return {};
  return point->cells;
}

std::vector<std::size_t> SweepState::Left() const {
  std::vector<std::size_t> left;
  std::ranges::copy_if(
      wanted_, std::back_inserter(left),
      [this](std::size_t i) { return Processes(i) < plan_.processes; });
  return left;
}

bool SweepState::IsComplete(std::size_t i) const {
  return CellsOf(i).size() == sweep_.points[i].cells.size();
}

bool SweepState::HasMoreTime(std::size_t i, const MeasurerOptions& now) const {
  const FinishedPoint& point = *Find(i);
  const MeasuringRun& run = finished_.runs[*point.runs.rbegin()];
  for (std::size_t c = 0; c < point.cells.size(); ++c) {
    if (point.cells[c].status != CellStatus::kTimeout) continue;
    if (IsLower(run.cell_limit_s, now.cell_limit_s)) return true;
    // A peer's cell may have met either limit.
    if (sweep_.points[i].cells[c].is_peers &&
        IsLower(run.peer_limit_s, now.peer_limit_s)) {
      return true;
    }
  }
  return false;
}

Unfinished SweepState::FindUnfinished(const MeasurerOptions& now) const {
  Unfinished found;
  for (const std::size_t i : wanted_) {
    if (Find(i) == nullptr) continue;
    if (IsComplete(i)) {
      const bool has_error =
          std::ranges::any_of(CellsOf(i), [](const ResultCell& cell) {
            return cell.status == CellStatus::kError;
          });
      if (!has_error && !HasMoreTime(i, now)) continue;
      ++(has_error ? found.num_errors : found.num_timeouts);
    }
    found.points.insert(hashes_[i]);
  }
  return found;
}

std::vector<Calibration> SweepState::CalibrationOfPoints() const {
  std::vector<Calibration> calibration;
  for (const std::size_t i : wanted_) {
    const FinishedPoint* const point = Find(i);
    if (point == nullptr || !point->calibration) continue;
    calibration.push_back(*point->calibration);
  }
  return calibration;
}

SweepResult SweepState::Result(const SweepContext& own,
                               const MeasuringRun& own_run) const {
  SweepContext context = finished_.context.value_or(own);
  context.command = own.command;
  context.workload_files = own.workload_files;
  context.points = hashes_;
  context.cells_of_points.clear();
  for (const Point& point : sweep_.points) {
    context.cells_of_points.push_back(std::ssize(point.cells));
  }
  context.processes = sweep_.processes;
  context.shard.reset();
  if (shard_) context.shard = shard_->Text();
  context.limits = finished_.limits;
  const auto num_points = std::ranges::count_if(wanted_, [this](auto i) {
    const FinishedPoint* const point = Find(i);
    return point != nullptr && IsComplete(i) &&
           point->Processes(plan_.processes) == plan_.processes;
  });
  const std::string not_whole =
      num_points == std::ssize(wanted_)
          ? ""
          : fmt::format("interrupted: {} of {} points{}; --resume goes on",
                        num_points, wanted_.size(),
                        sweep_.processes == 1
                            ? ""
                            : fmt::format(" were measured by all {} processes",
                                          sweep_.processes));
  FinishedPoints finished = finished_;
  if (finished.runs.empty()) finished.runs.push_back(own_run);
  SweepResult result = AssembledResult(std::move(context), finished, not_whole);
  result.context.date = result.context.runs[0].date;
  return result;
}

}  // namespace attnbench
