#include "harness/campaign/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "harness/base/printable.h"

namespace attnbench {
namespace {

constexpr int kBarWidth = 30;

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

std::string PointText(const Point& point) {
  std::string text;
  for (const auto& [name, value] : point.axes) {
    const std::string& letter = FindAxis(name, "point").letter;
    if (!text.empty()) text += ' ';
    text += (letter.empty() ? name : letter) + "=" + value.Shown();
  }
  return text;
}

Progress::Progress(const Sweep& sweep, std::span<const std::int64_t> done)
    : sweep_(sweep),
      estimate_(sweep),
      start_(Clock::now()),
      line_time_(start_) {
  for (int process = 0; process < sweep.processes; ++process) {
    for (std::size_t point = 0; point < sweep.points.size(); ++point) {
      if (process < done[point]) continue;
      steps_.push_back({process, point});
    }
  }
  AddSteps();
  if (is_terminal_) {
    Draw(0);
  } else {
    Line(fmt::format("{} point{}{}{}", sweep.points.size(),
                     sweep.points.size() == 1 ? "" : "s",
                     sweep.processes == 1
                         ? ""
                         : fmt::format(" by {} processes", sweep.processes),
                     TimeLeft(0)));
  }
}

double Progress::StepSeconds(const Step& step) const {
  // Points with skipped cells only take a moment, too.
  return 1e-3 + estimate_.StepSeconds(step.point, step.process == 0);
}

void Progress::AddSteps() {
  done_s_ = total_s_ = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (i == step_) done_s_ = total_s_;
    total_s_ += StepSeconds(steps_[i]);
  }
  if (step_ == steps_.size()) done_s_ = total_s_;
}

std::string Progress::TimeLeft(double done_s) const {
  // The estimate is trusted until it can be compared with what happened, unless
  // it is a guess.
  constexpr double kEnoughToTell = 0.05;
  const double elapsed_s = Seconds(Clock::now() - start_);
  const bool is_early = done_s < kEnoughToTell * total_s_;
  if (is_early && estimate_.NumUnknown() > 0) return "";
  const double left =
      is_early ? total_s_ - elapsed_s : elapsed_s * (total_s_ / done_s - 1);
  return left > 0 ? fmt::format(", about {} left", DurationText(left)) : "";
}

void Progress::Draw(double done_s) {
  last_draw_ = Clock::now();
  const double share = done_s / total_s_;
  const int filled = static_cast<int>(share * kBarWidth);
  // The line fits 80 columns, because one that wraps cannot be redrawn.
  fmt::print(stderr, "\r[{:#<{}}{:-<{}}] {:3.0f} %  [{}/{}]{}\x1b[K", "",
             filled, "", kBarWidth - filled, 100 * share, step_, steps_.size(),
             TimeLeft(done_s));
  std::fflush(stderr);
}

void Progress::Line(const std::string& text) {
  fmt::print(stderr, "{}{}\n", is_terminal_ ? "\r\x1b[K" : "", Printable(text));
  std::fflush(stderr);
}

void Progress::Tick(double share_of_point) {
  if (!is_terminal_ || Seconds(Clock::now() - last_draw_) < 0.1) return;
  const double share = std::clamp(share_of_point, 0.0, 1.0);
  Draw(done_s_ + share * StepSeconds(steps_[step_]));
}

void Progress::FinishPoint(const std::vector<ResultCell>& cells) {
  const auto [process, point] = steps_.at(step_);
  done_s_ += StepSeconds(steps_[step_++]);
  if (estimate_.Learn(cells)) AddSteps();
  const std::string where = PointText(sweep_.points[point]);
  for (const ResultCell& cell : cells) {
    if (!IsFailure(cell.status)) continue;
    Line(fmt::format("{}: {} {}: {}", NameOf(cell.status), cell.mechanism,
                     where, Shortened(cell.message.value_or("-"))));
  }
  if (is_terminal_) {
    Draw(done_s_);
    if (step_ == steps_.size()) fmt::print(stderr, "\n");
    return;
  }
  const bool is_alone = sweep_.processes == 1;
  const bool ends_process =
      step_ == steps_.size() || steps_[step_].process != process;
  if (!is_alone && !ends_process) return;
  const std::string what =
      is_alone ? fmt::format("{}: {}", where, Counted(cells.size(), "cell"))
               : fmt::format("process {} of {}", process + 1, sweep_.processes);
  Line(fmt::format("[{}/{}] {}, {:.1f} s{}", step_, steps_.size(), what,
                   Seconds(Clock::now() - line_time_), TimeLeft(done_s_)));
  line_time_ = Clock::now();
}

CountProgress::CountProgress(std::string command, std::string cases,
                             bool tells_time)
    : command_(std::move(command)),
      cases_(std::move(cases)),
      tells_time_(tells_time) {}

double CountProgress::Seconds() const {
  return attnbench::Seconds(Clock::now() - start_);
}

void CountProgress::ShowCount(std::size_t finished, std::size_t total) {
  const std::size_t tenth = 10 * finished / total;
  const bool is_new_tenth = tenth != last_tenth_;
  last_tenth_ = tenth;
  if (!is_terminal_ && !is_new_tenth) return;
  const double left =
      Seconds() *
      (static_cast<double>(total) / static_cast<double>(finished) - 1);
  const char* const end = !is_terminal_       ? "\n"
                          : finished == total ? "\x1b[K\n"
                                              : "\x1b[K";
  fmt::print(
      stderr, "{}{}: {} of {} {}{}{}", is_terminal_ ? "\r" : "", command_,
      finished, total, cases_,
      tells_time_ ? fmt::format(", about {:.0f} s left", std::ceil(left)) : "",
      end);
  std::fflush(stderr);
}

}  // namespace attnbench
