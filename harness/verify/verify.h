// The proof that what trains is the expectation of what decodes, for energies
// that are fixed beforehand (open loop): runs the cases of verify_cases.h and
// compares Expect and Gradient of each with the decoder alone, by decoding once
// where nothing is random, by all outcomes where there are few, by trials
// elsewhere.
#ifndef ATTNBENCH_HARNESS_VERIFY_VERIFY_H_
#define ATTNBENCH_HARNESS_VERIFY_VERIFY_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "harness/verify/report.h"

namespace attnbench {

struct VerifyOptions {
  std::int64_t trials = 20'000;  // of each case that samples; at least 2
  std::uint64_t seed = 1;
  double level = 1e-6;  // the probability that anything right is called wrong
  int threads = 1;
};

// Not judged yet. What the mechanism throws becomes `failure`.
CaseReport RunVerifyCase(const Mechanism<double>& mechanism,
                         const VerifyCase& verify_case,
                         const VerifyOptions& options);

// Runs the cases of mechanisms that are registered and gives a report for each,
// not judged, in their order and bit-identical for every number of threads.
// `on_finished` is called after each case, by one thread at a time, with how
// many are.
std::vector<CaseReport> RunVerifyCases(
    const std::vector<VerifyCase>& cases, const VerifyOptions& options,
    const std::function<void(std::size_t finished)>& on_finished);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_VERIFY_VERIFY_H_
