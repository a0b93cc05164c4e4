// Tells how far a sweep is and how long it still takes: a bar that is redrawn
// in place on a terminal, one plain line a point elsewhere, so that logs stay
// readable. Cells that failed are told at once on either.
#ifndef ATTNBENCH_HARNESS_PROGRESS_H_
#define ATTNBENCH_HARNESS_PROGRESS_H_

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "harness/sweep.h"

namespace attnbench {

// The axes of a point: "T=8 U=4 d=256 B=1 workload=uniform".
std::string PointText(const AxisTable& table, const Point& point);

class Progress {
 public:
  // `sweep` and `table` outlive this. A cell is taken to last as long as any
  // other.
  Progress(const AxisTable& table, const Sweep& sweep, std::FILE* out,
           bool is_terminal);

  // The share of the current point that is done: draws the bar, at most ten
  // times a second.
  void Tick(double share_of_point);
  // The current point is finished with these cells of the result; the next one
  // becomes current.
  void FinishPoint(const std::vector<Json>& cells);

 private:
  using Clock = std::chrono::steady_clock;

  void Draw(double cells_done);
  void Line(const std::string& text);
  std::string TimeLeft(double cells_done) const;

  const AxisTable& table_;
  const Sweep& sweep_;
  std::FILE* out_;
  bool is_terminal_;
  std::size_t point_ = 0;
  double cells_total_ = 0;
  double cells_done_ = 0;  // of finished points
  Clock::time_point start_;
  Clock::time_point point_start_;
  Clock::time_point last_draw_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_PROGRESS_H_
