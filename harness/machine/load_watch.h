// Watches how many CPUs other programs kept busy before a run measured and
// while it did, from readings at the ends of its points. The system's load
// average would not do: it is a mean over minutes, and tells of the run before.
#ifndef ATTNBENCH_HARNESS_MACHINE_LOAD_WATCH_H_
#define ATTNBENCH_HARNESS_MACHINE_LOAD_WATCH_H_

#include <optional>

#include "harness/machine/context.h"
#include "harness/system/cpu_times.h"

namespace attnbench {

class LoadWatch {
 public:
  // Readings that are closer together say nothing: the system counts in steps.
  static constexpr double kShortestS = 0.5;

  // Takes a reading: two that are kShortestS apart, before anything is
  // measured, then one after every point. Two readings give the load between
  // them; a span below kShortestS is counted together with the one before it.
  // An unknown reading is none.
  void Add(const std::optional<CpuTimes>& now);

  // The CPUs that other programs kept busy, to hundredths: between the first
  // two readings, and the most in any later span. None if not known.
  std::optional<double> at_start() const { return at_start_; }
  std::optional<double> worst() const { return worst_; }

 private:
  // Either two readings, at least kShortestS apart, or the first one twice.
  std::optional<CpuTimes> begin_, next_;
  std::optional<double> at_start_;
  std::optional<double> worst_;
};

// Starts a watch and looks for kShortestS, in which the caller does nothing;
// sets the context's `load`. Throws UserError where the clock can time nothing
// (CheckClock).
LoadWatch BeginWatch(Context& context);

// Looks again, sets `load_end` and judges the context (validity.h).
void LookAgain(LoadWatch& watch, const std::vector<Calibration>& calibration,
               Context& context);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_LOAD_WATCH_H_
