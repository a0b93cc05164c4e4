// Estimates how long a sweep will take: most of it is the number of cells times
// rounds times the length of a sample, which is known; what long trials add
// follows from their operations and from how fast short trials are.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_ESTIMATE_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_ESTIMATE_H_

#include <functional>
#include <string>
#include <vector>

#include "harness/sweep/sweep.h"

namespace attnbench {

struct TimeEstimate {
  double start_s = 0;                // the machine's limits, once
  std::vector<double> point_s = {};  // of each point of the sweep

  double total_s() const;
};

// The operations that a trial of the cell does in a nanosecond on one thread.
using SpeedOf = std::function<double(const Cell&)>;

inline constexpr double kTypicalFlopsPerNs = 10;

// Measures a trial of each kind of cell, on a problem that is small enough to
// take milliseconds, in a worker. What could not be measured has the typical
// speed.
SpeedOf MeasureSpeeds(const Sweep& sweep);

// Skipped cells take no time.
TimeEstimate EstimateTime(
    const Sweep& sweep,
    const SpeedOf& speed = [](const Cell&) { return kTypicalFlopsPerNs; });

// "12 s", "3 min", "2 h 5 min": rounded up.
std::string DurationText(double seconds);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_ESTIMATE_H_
