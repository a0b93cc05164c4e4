// Tells how far a command is and how long it still takes. A sweep shows a bar
// that is redrawn in place on a terminal. Elsewhere it writes a plain line a
// point, or a process where there are several, so that logs stay readable.
// Failed cells are told at once in both.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_PROGRESS_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_PROGRESS_H_

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/campaign/estimate.h"
#include "harness/results/cell.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

// The axes of a point: "T=8 U=4 d=256 B=1 workload=uniform".
std::string PointText(const Point& point);

class Progress {
 public:
  struct Step {
    int process;
    std::size_t point;  // its index
  };

  // `sweep` outlives this; `done` says how many processes have measured each of
  // its points before. Tells at once how long the whole may take, unless the
  // length of a long trial is a guess: probes (estimate.h) would delay what is
  // to be measured. The points' shares of that time are estimated anew as their
  // cells are measured.
  Progress(const Sweep& sweep, std::span<const std::int64_t> done);

  // All that is to be measured: every point by a process, then by the next one.
  const std::vector<Step>& steps() const { return steps_; }

  // Draws the bar, at most ten times a second, for the share of the current
  // point that is done.
  void Tick(double share_of_point);
  // A process has measured the current point and gave these cells; the next one
  // becomes current.
  void FinishPoint(const std::vector<ResultCell>& cells);

 private:
  using Clock = std::chrono::steady_clock;

  // `done_s` is the estimated time of what is done.
  void Draw(double done_s);
  void Line(const std::string& text);
  std::string TimeLeft(double done_s) const;
  double StepSeconds(const Step& step) const;
  void AddSteps();

  const Sweep& sweep_;
  const bool is_terminal_ = isatty(STDERR_FILENO) == 1;
  std::vector<Step> steps_;  // all that is to be measured
  std::size_t step_ = 0;     // the current one
  TimeEstimate estimate_;
  double total_s_ = 0;  // the estimated time of all steps
  double done_s_ = 0;   // of finished steps
  Clock::time_point start_;
  Clock::time_point line_time_;  // of the last line, or the start
  Clock::time_point last_draw_;
};

// Tells how many of a command's cases are finished: one line that is redrawn on
// a terminal, one line a tenth elsewhere.
class CountProgress {
 public:
  // "verify: 3 of 10 cases, about 7 s left" for ("verify", "cases"). The time
  // is told only if all cases take about equally long.
  CountProgress(std::string command, std::string cases, bool tells_time);

  // This is called after each case, by one thread at a time.
  void ShowCount(std::size_t finished, std::size_t total);
  double Seconds() const;  // since this was made

 private:
  using Clock = std::chrono::steady_clock;

  const std::string command_;
  const std::string cases_;
  const bool tells_time_;
  const bool is_terminal_ = isatty(STDERR_FILENO) == 1;
  const Clock::time_point start_ = Clock::now();
  std::size_t last_tenth_ = 0;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_PROGRESS_H_
