// What other programs did before a run measured and while it did: how many CPUs
// they kept busy, from readings at the ends of its points. The system's load
// average would not do: it is a mean over minutes, and tells of the run before.
#ifndef ATTNBENCH_HARNESS_MACHINE_LOAD_WATCH_H_
#define ATTNBENCH_HARNESS_MACHINE_LOAD_WATCH_H_

#include <optional>

#include "harness/machine/context.h"
#include "harness/system/cpu_times.h"

namespace attnbench {

class LoadWatch {
 public:
  // Readings closer than this say nothing: the system counts in steps.
  static constexpr double kShortestS = 0.5;

  // Two readings that are kShortestS apart, before anything is measured, and
  // one whenever a point has ended. Between two of them lies what other
  // programs did; where that was shorter than kShortestS, it is looked at
  // together with what was before. A reading that is not known is none.
  void Add(const std::optional<CpuTimes>& now);

  // CPUs that other programs kept busy, to hundredths: between the first two
  // readings, and the most of any time after that. None: not known.
  std::optional<double> at_start() const { return at_start_; }
  std::optional<double> worst() const { return worst_; }

 private:
  // Two readings, at least kShortestS apart, or twice the first one.
  std::optional<CpuTimes> begin_, next_;
  std::optional<double> at_start_;
  std::optional<double> worst_;
};

// A watch that has looked for kShortestS, in which the caller does nothing;
// sets the context's `load`.
LoadWatch BeginWatch(Context& context);

// Looks again, sets `load_end` and judges the context (validity.h).
void LookAgain(LoadWatch& watch, const std::vector<Calibration>& calibration,
               Context& context);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_LOAD_WATCH_H_
