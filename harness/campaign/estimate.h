// How long a sweep will take. Most of it is the number of cells times rounds
// times the length of a sample, which is known. How long long trials are is
// measured, by probes: the same cells with few outputs, as the work of every
// mechanism is linear in the number of outputs. Counts of operations do not
// tell it, as variants differ in speed by orders of magnitude.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_ESTIMATE_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_ESTIMATE_H_

#include <span>
#include <string>
#include <vector>

#include "harness/results/cell.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

struct TimeEstimate {
  double start_s = 0;                // the machine's limits and the processes
  std::vector<double> point_s = {};  // of each point of the sweep
  // The cells with long trials whose length no probe tells.
  std::size_t num_unknown = 0;

  double total_s() const;
};

// The probes, to be measured with one draw and short samples: none of cells
// whose trials are short by their count of operations.
Sweep ProbesOf(const Sweep& sweep);

// `probed` are the cells of ProbesOf(sweep). A cell whose probe failed will
// probably fail, too, and its trials are taken to be short. Without probes long
// trials are guessed by counts of operations, which may be wrong by orders of
// magnitude. Skipped cells take no time.
TimeEstimate EstimateTime(const Sweep& sweep,
                          std::span<const ResultCell> probed = {});

// "12 s", "3 min", "2 h 5 min": rounded up.
std::string DurationText(double seconds);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_ESTIMATE_H_
