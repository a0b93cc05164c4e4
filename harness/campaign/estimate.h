// How long a sweep will take, before anything is measured: most of it is the
// number of cells times rounds times the length of a sample, which is known;
// what long trials add is guessed from exact operations at a typical speed.
// Within a factor of two on an idle machine of today, for all files of
// experiments/ (what was compared stands in estimate.cc).
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_ESTIMATE_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_ESTIMATE_H_

#include <string>
#include <vector>

#include "harness/sweep/sweep.h"

namespace attnbench {

struct TimeEstimate {
  double start_s = 0;                // the machine's limits, once
  std::vector<double> point_s = {};  // of each point of the sweep

  double total_s() const;
};

// Skipped cells take no time. A peer's cells are taken to last as long as ours.
TimeEstimate EstimateTime(const Sweep& sweep);

// "12 s", "3 min", "2 h 5 min": rounded up.
std::string DurationText(double seconds);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_ESTIMATE_H_
