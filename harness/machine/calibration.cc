#include "harness/machine/calibration.h"

#include <algorithm>
#include <chrono>

#include "harness/stats/statistics.h"

namespace attnbench {
namespace {

constexpr int kRuns = 5;
// Each step is a multiplication and an addition of three or four cycles: 9 to
// 15 us in all.
constexpr int kSteps = 5'500;

// Each step needs the last one's result; x stays near 1. The loop is not
// inlined, or the compiler could compute its result for the known argument.
__attribute__((noinline)) double DependentSteps(double x) {
  for (int step = 0; step < kSteps; ++step) x = x * 0.999999 + 1e-6;
  return x;
}

}  // namespace

double TimeCalibrationNs() {
  using Clock = std::chrono::steady_clock;
  static volatile double end = 0.5;
  double least_ns = 0;
  for (int run = 0; run < kRuns; ++run) {
    const auto start = Clock::now();
    end = DependentSteps(end);
    const double elapsed_ns =
        std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    least_ns = run == 0 ? elapsed_ns : std::min(least_ns, elapsed_ns);
  }
  return least_ns;
}

Calibration CalibrationOf(const std::string& point,
                          const std::vector<double>& samples_ns) {
  const double median_ns = Median(samples_ns);
  const Interval interval = MedianInterval(samples_ns);
  const double furthest_ns =
      std::max(interval.high - median_ns, median_ns - interval.low);
  return {.point = point,
          .samples_ns = samples_ns,
          .median_ns = median_ns,
          .deviation = furthest_ns / median_ns};
}

Drift DriftOf(const std::vector<Calibration>& calibration) {
  Drift drift;
  double least_ns = 0, greatest_ns = 0;
  for (const Calibration& entry : calibration) {
    const bool is_first = drift.worst_point.empty();
    least_ns = is_first ? entry.median_ns : std::min(least_ns, entry.median_ns);
    greatest_ns = std::max(greatest_ns, entry.median_ns);
    if (is_first || entry.deviation > drift.within_point) {
      drift.within_point = entry.deviation;
      drift.worst_point = entry.point;
    }
  }
  if (least_ns > 0) drift.between_points = greatest_ns / least_ns - 1;
  return drift;
}

}  // namespace attnbench
