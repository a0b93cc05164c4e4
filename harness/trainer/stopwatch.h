// Adds up the time between Start and Stop. Starting a watch that runs, and
// stopping one that does not, changes nothing.
#ifndef ATTNBENCH_HARNESS_TRAINER_STOPWATCH_H_
#define ATTNBENCH_HARNESS_TRAINER_STOPWATCH_H_

#include <chrono>
#include <optional>

namespace attnbench {

class Stopwatch {
 public:
  void Start() {
    if (!started_) started_ = Clock::now();
  }
  void Stop() {
    if (started_) sum_ += Clock::now() - *started_;
    started_.reset();
  }
  // Of all that was stopped.
  double Seconds() const { return std::chrono::duration<double>(sum_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::duration sum_{};
  std::optional<Clock::time_point> started_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINER_STOPWATCH_H_
