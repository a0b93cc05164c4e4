// How fast the processor's clock ran while a sweep measured. A fixed loop of
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

// Time of the loop now, in ns: the least of a few, of about 10 us each, because
// an interruption makes one longer and a slower clock all of them. Reads the
// clock; about 50 us.
double TimeCalibrationNs();

// The entry of `context.calibration` of a point. There is one sample a round,
// of all its processes; at least one. `deviation` is how far the median may be
// off for the rounds' drift: the further end of its interval (MedianInterval),
// relative to it.
Calibration CalibrationOf(const std::string& point,
                          const std::vector<double>& samples_ns);

// What all entries together say.
struct Drift {
  double between_points = 0;  // (greatest - least) / least of the medians
  double within_point = 0;    // the largest deviation
  std::string worst_point;    // has that deviation; empty without entries
};
Drift DriftOf(const std::vector<Calibration>& calibration);

// A drift beyond this is told. A clock that is fixed stays within 0.1 percent
// even where other programs keep every core busy; a step of one that is not
// (100 MHz) is 2 to 5.
inline constexpr double kNoticeableDrift = 0.02;
// With a drift beyond this the times are worth nothing by themselves: the
// differences that they are to show are not larger.
inline constexpr double kIntolerableDrift = 0.10;

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_CALIBRATION_H_
