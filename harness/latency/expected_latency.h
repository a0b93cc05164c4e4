// The latency of the sampled process: its expectation, which follows from
// alpha, and estimates from sampled paths.
//
// alpha(i, j) is the probability that output i chooses entry j; the rest of a
// row is the probability of choosing nothing, which takes the whole memory (T).
// So
//
//   E[g(i)] = T + sum over j of (j - T) alpha(i, j)            j = 1..T
//   E[AP]   = sum of E[g(i)] / (T U)
//
// is exact and linear in alpha, and dAP/dalpha(i, j) = (j - T) / (T U). The
// other metrics are not linear in the delays: E[AL] is not the AL of the
// expected delays. They are estimated from sampled paths; the metrics of the
// expected delays are given too, under that name.
//
// Delays do not depend on what follows an output that chose nothing: everything
// is read by then. So alpha under `absorb`, whose missing mass is the
// probability of having chosen nothing so far, gives the delays under every
// `end`. Delays do not depend on the weights of a choice either, so all
// mechanisms that choose by the monotonic scan share them.
#ifndef ATTNBENCH_HARNESS_LATENCY_EXPECTED_LATENCY_H_
#define ATTNBENCH_HARNESS_LATENCY_EXPECTED_LATENCY_H_

#include <vector>

#include "harness/latency/latency.h"

namespace attnbench {

// The mechanism whose attention is alpha, so that its gradients of attention
// are gradients of alpha.
inline constexpr char kScan[] = "monotonic";

// Whether the mechanism chooses by the scan: it is online, and draws from
// p_choose or energies.
bool ChoosesByScan(const Description& description);

struct ExpectedLatency {
  std::vector<double> delays;  // E[g(i)], [U]
  double ap = 0;               // E[AP]
  Latency of_expected_delays;  // only its ap is an expectation, equal to `ap`
};

// Computes it for a sequence with given p_choose or energies [U, T], U and T >
// 0, and the `config` of a mechanism that chooses by the scan. Writes dE[AP]/d
// scores where `gradients` has data, p_choose or energies as they were given.
// Option `noise` acts as in the expectation. O(U T). Thread-safe.
ExpectedLatency ExpectLatency(const Config& config,
                              const Sequence<double>& sequence,
                              Index reference_length,
                              const Gradients<double>& gradients);

// The distance between the expectation and means of this many paths.
struct BatchError {
  Index paths = 0;    // number of paths in a batch
  Index batches = 0;  // number of disjoint batches
  double rms = 0;     // root of the mean squared error of their means

  static void Fields(auto& self, auto& visit) {
    visit("paths", self.paths);
    visit("batches", self.batches);
    visit("rms", self.rms);
  }
};

// Errors of batches of 1, 4, 16, ... values, as long as there are at least
// kFewestBatches of them. The values are cut into batches in their order; a
// remainder is not used.
inline constexpr Index kFewestBatches = 16;
std::vector<BatchError> BatchErrors(std::span<const double> values,
                                    double expected);

// The means over sampled paths.
struct SampledLatency {
  Latency mean;
  Latency standard_error;  // of each mean
  std::vector<double> ap;  // of each path
};

// Decodes the sequence `num_paths` >= 2 times, choosing with probability p from
// inputs.seed, whatever mode, schedule and variant `config` has. Throws
// Unsupported. Thread-safe.
SampledLatency SampleLatency(const Mechanism<double>& mechanism,
                             const Config& config,
                             const Sequence<double>& sequence,
                             Index reference_length, Index num_paths);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_LATENCY_EXPECTED_LATENCY_H_
