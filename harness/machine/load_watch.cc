#include "harness/machine/load_watch.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "harness/machine/clock.h"
#include "harness/machine/environment.h"

namespace attnbench {
namespace {

double BusyForOthers(const CpuTimes& begin, const CpuTimes& end) {
  const double busy_s = end.busy_s - begin.busy_s;
  // The time of a child that nobody waited for is lost.
  const double own_s = std::max(0.0, end.own_s - begin.own_s);
  if (!(end.at_s > begin.at_s)) return 0;
  const double cpus = (busy_s - own_s) / (end.at_s - begin.at_s);
  return std::max(0.0, std::round(100 * cpus) / 100);
}

}  // namespace

void LoadWatch::Add(const std::optional<CpuTimes>& now) {
  if (!now) return;
  if (!begin_) {
    begin_ = next_ = now;
    return;
  }
  const bool is_long = now->at_s - next_->at_s >= kShortestS;
  if (is_long) begin_ = next_;
  std::optional<double>& load = at_start_ ? worst_ : at_start_;
  const double cpus = BusyForOthers(*begin_, *now);
  if (!load || cpus > *load) load = cpus;
  if (is_long) next_ = now;
}

LoadWatch BeginWatch(Context& context) {
  CheckClock();
  LoadWatch watch;
  watch.Add(ReadCpuTimes());
  // Rounding must not make the span shorter.
  std::this_thread::sleep_for(
      std::chrono::duration<double>(LoadWatch::kShortestS + 0.001));
  watch.Add(ReadCpuTimes());
  context.load = watch.at_start();
  return watch;
}

void LookAgain(LoadWatch& watch, const std::vector<Calibration>& calibration,
               Context& context) {
  watch.Add(ReadCpuTimes());
  context.load_end = watch.worst();
  SetValidity(CircumstancesNow(), calibration, context);
}

}  // namespace attnbench
