// Rounds whose probes are made up.
#ifndef ATTNBENCH_TESTS_SUPPORT_PROBED_H_
#define ATTNBENCH_TESTS_SUPPORT_PROBED_H_

#include <vector>

#include "harness/machine/calibration.h"

namespace attnbench::testing {

inline ProbedRounds ChainOnly(const std::vector<double>& samples_ns) {
  ProbedRounds rounds;
  for (const double elapsed_ns : samples_ns) {
    rounds.times.push_back({{"chain", elapsed_ns}});
  }
  return rounds;
}

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_PROBED_H_
