#include "harness/campaign/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/inputs/workload.h"
#include "harness/measure/point_runner.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

const double kEpochNs = RunOptions().epoch_ns;

// Rough guesses at the harness's own work.
constexpr double kCellSeconds = 0.005;  // making and checking the least cell
constexpr double kGateTrials = 10;      // a reference takes as long as so many
constexpr double kGateSeconds = 0.2;    // and has a budget
constexpr double kProcessSeconds = 0.1;
// A trial is taken to last so many times as long under callgrind, and so is
// making its inputs.
constexpr double kCallgrindSlowdown = 500;

constexpr std::int64_t kProbeOutputs = 64;

double Number(const Cell& cell, const char* axis) {
  return static_cast<double>(cell.Int(axis));
}

// Whether memory is passed over once, and not by every output. The layers of a
// whole decoder, which do that, take longer than its attention.
bool PassesOnce(const Cell& cell) {
  const auto* const mechanism = FindMechanism<float>(cell.mechanism);
  return IsWholeDecoder(cell.axes) ||
         (cell.mode() == Mode::kDecode && mechanism != nullptr &&
          mechanism->Describe().online);
}

double Reads(const Cell& cell) {
  const double T = Number(cell, "memory_length");
  const double U = Number(cell, "output_length");
  return Number(cell, "batch") * (PassesOnce(cell) ? T + U : T * U);
}

// About as many as the workload has (workload.h).
double Draws(const Cell& cell) {
  const double numbers =
      2 * Number(cell, "batch") * Number(cell, "dim") *
      (Number(cell, "memory_length") + Number(cell, "output_length"));
  return std::clamp(static_cast<double>(kMostDrawBytes) / 8 / numbers, 1.0,
                    static_cast<double>(kMostDraws));
}

// Whether a sample through all draws lasts longer than one must.
bool IsLong(double reads, double draws) {
  return kGuessedReadNs * reads * draws > kEpochNs;
}

// The cell's kind: its key but for lengths, batch and workload.
std::string KindOf(const CellIdentity& cell) {
  CellIdentity kind = cell;
  for (const char* axis :
       {"memory_length", "output_length", "batch", "workload"}) {
    kind.axes[axis] = nullptr;
  }
  return kind.Key();
}

// The cell with fewer outputs, and with less to pass over.
Cell Shortened(Cell cell) {
  const double share = std::min(
      1.0, static_cast<double>(kProbeOutputs) / Number(cell, "output_length"));
  const auto shorten = [&](const char* axis) {
    cell.axes[axis] =
        std::max<std::int64_t>(1, std::llround(share * Number(cell, axis)));
  };
  if (PassesOnce(cell)) shorten("memory_length");
  shorten("output_length");
  if (IsWholeDecoder(cell.axes)) {
    cell.axes["batch"] = 1;
    cell.axes["workload"] = "copy:1";
  } else {
    // A file has its own lengths, and a planted path no more outputs than
    // entries.
    cell.axes["workload"] = "uniform";
  }
  return cell;
}

}  // namespace

TimeEstimate::TimeEstimate(const Sweep& sweep) : settings_(sweep) {
  for (const Point& point : sweep.points) {
    std::vector<CellWork>& cells = points_.emplace_back();
    for (const Cell& cell : point.cells) {
      if (cell.skip_reason) continue;
      cells.push_back({KindOf(cell), Reads(cell), Draws(cell)});
    }
  }
}

bool TimeEstimate::Learn(std::span<const ResultCell> cells) {
  bool has_changed = false;
  for (const ResultCell& measured : cells) {
    if (!measured.is_ok()) continue;
    Cell cell;
    static_cast<CellIdentity&>(cell) = measured;
    const double reads = Reads(cell);
    Speed& speed = speeds_[KindOf(cell)];
    if (reads < 2 * speed.reads) continue;
    // Other work may slow a sample down, and nothing speeds one up.
    speed = {*std::ranges::min_element(measured.samples_ns) / reads, reads};
    has_changed = true;
  }
  return has_changed;
}

double TimeEstimate::TrialNs(const CellWork& cell) const {
  const auto speed = speeds_.find(cell.kind);
  return cell.reads *
         (speed == speeds_.end() ? Speed() : speed->second).read_ns;
}

double TimeEstimate::StepSeconds(std::size_t point, bool is_first) const {
  const double trials =
      std::ceil(static_cast<double>(settings_.trials) / settings_.repetitions);
  double seconds = 0;
  for (const CellWork& cell : points_.at(point)) {
    const double trial_s = 1e-9 * TrialNs(cell);
    const double draws_s = cell.draws * trial_s;
    // A sample of several trials goes through all draws.
    const double sample_s = std::max(
        1e-9 * kEpochNs,
        (trial_s < 1e-9 * kEpochNs ? std::max(cell.draws, trials) : trials) *
            trial_s);
    // Each draw is counted twice; the first process also times each.
    seconds += kCellSeconds + settings_.repetitions * sample_s + 2 * draws_s;
    if (!is_first) continue;
    seconds += draws_s + std::min(kGateSeconds, kGateTrials * draws_s);
    if (!settings_.counts_instructions) continue;
    seconds += kCallgrindSlowdown * (kCellSeconds + draws_s);
  }
  return seconds;
}

double TimeEstimate::PointSeconds(std::size_t point) const {
  return StepSeconds(point, true) +
         (settings_.processes - 1) * StepSeconds(point, false);
}

double TimeEstimate::TotalSeconds() const {
  double seconds = kProcessSeconds * settings_.processes;
  for (std::size_t point = 0; point < points_.size(); ++point) {
    seconds += PointSeconds(point);
  }
  return seconds;
}

std::size_t TimeEstimate::NumUnknown() const {
  std::size_t number = 0;
  for (const std::vector<CellWork>& cells : points_) {
    for (const CellWork& cell : cells) {
      if (!speeds_.contains(cell.kind) && IsLong(cell.reads, cell.draws))
        ++number;
    }
  }
  return number;
}

Sweep ProbesOf(const Sweep& sweep) {
  std::map<std::string, const Cell*> most;
  for (const Point& point : sweep.points) {
    for (const Cell& cell : point.cells) {
      if (cell.skip_reason || !IsLong(Reads(cell), Draws(cell))) continue;
      const Cell*& of_kind = most[KindOf(cell)];
      if (of_kind == nullptr || Reads(*of_kind) < Reads(cell)) of_kind = &cell;
    }
  }
  std::vector<Cell> cells;
  for (const auto& [kind, cell] : most) cells.push_back(Shortened(*cell));
  Sweep probes;
  probes.seed = sweep.seed;
  probes.repetitions = 2;  // other work may slow one of them down
  probes.points = GroupCells(std::move(cells));
  return probes;
}

std::string DurationText(double seconds) {
  if (seconds <= 59) return fmt::format("{:.0f} s", std::ceil(seconds));
  const double minutes = std::ceil(seconds / 60);
  if (minutes < 60) return fmt::format("{:.0f} min", minutes);
  return fmt::format("{:.0f} h {:.0f} min", std::floor(minutes / 60),
                     std::fmod(minutes, 60));
}

}  // namespace attnbench
