// The proof that what trains is the expectation of what decodes, for energies
// that are fixed beforehand (open loop): runs the cases of cases.h and compares
// Expect and Gradient of each with the decoder alone: it decodes once if
// nothing is random, tries all outcomes if there are few, and samples
// otherwise.
#ifndef ATTNBENCH_HARNESS_VERIFY_VERIFY_H_
#define ATTNBENCH_HARNESS_VERIFY_VERIFY_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "harness/verify/report.h"

namespace attnbench {

struct VerifyOptions {
  std::int64_t trials = 20'000;  // for each case that samples; at least 2
  std::uint64_t seed = 1;
  double level = 1e-6;  // the probability that anything right fails
  int threads = 1;
};

// The report is not judged yet. An exception of the mechanism becomes
// `failure`.
CaseReport RunVerifyCase(const Mechanism<double>& mechanism,
                         const VerifyCase& verify_case,
                         const VerifyOptions& options);

// Runs the cases of registered mechanisms and gives a report for each, not
// judged, in their order and bit-identical for every number of threads.
// `on_finished` is called after each case, by one thread at a time, with the
// number of finished ones.
std::vector<CaseReport> RunVerifyCases(
    const std::vector<VerifyCase>& cases, const VerifyOptions& options,
    const std::function<void(std::size_t finished)>& on_finished);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_VERIFY_VERIFY_H_
