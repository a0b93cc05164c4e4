// Measures how fast the processor's clock ran during a sweep. A fixed loop of
// dependent multiply-adds touches no memory and cannot be overlapped, so its
// time is a number of cycles that never changes, over the clock rate. It is
// timed once a round, among the cells: where it drifts, times of different
// points, or of two results, are not of the same clock (ratios within a round
// are).
#ifndef ATTNBENCH_HARNESS_MACHINE_CALIBRATION_H_
#define ATTNBENCH_HARNESS_MACHINE_CALIBRATION_H_

#include <string>
#include <vector>

#include "harness/machine/context.h"

namespace attnbench {

// The loop's time now, in ns: the least of a few runs of about 10 us, because
// an interruption makes one of them longer and a slower clock all of them. A
// call takes about 50 us.
double TimeCalibrationNs();

// The entry of `context.calibration` of a point. There is one sample a round,
// of all its processes; at least one. `deviation` is how far drift between the
// rounds may move the median: the distance to the further end of its interval
// (MedianInterval), relative to the median.
Calibration CalibrationOf(const std::string& point,
                          const std::vector<double>& samples_ns);

// The drift over all entries together.
struct Drift {
  double between_points = 0;  // (greatest - least) / least of the medians
  double within_point = 0;    // the largest deviation
  std::string worst_point;    // the point of that deviation; may be empty
};
Drift DriftOf(const std::vector<Calibration>& calibration);

// A drift beyond this is a warning. A fixed clock stays within 0.1 percent even
// if other programs keep every core busy; a step of another one (100 MHz) is 2
// to 5 percent.
inline constexpr double kNoticeableDrift = 0.02;
// A drift beyond this is as large as the differences that times are to show, so
// the times alone mean nothing.
inline constexpr double kIntolerableDrift = 0.10;

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_CALIBRATION_H_
