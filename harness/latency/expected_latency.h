// Latency of the hard process in expectation, where alpha says how likely each
// choice is, and from paths that are sampled.
//
// alpha(i, j) is the probability that output i chooses entry j; what is missing
// in a row is that of choosing nothing, which takes the whole memory (T). So
//
//   E[g(i)] = T + sum over j of (j - T) alpha(i, j)            j = 1..T
//   E[AP]   = sum of E[g(i)] / (T U)
//
// is exact and linear in alpha, and dAP/dalpha(i, j) = (j - T) / (T U). The
// other metrics are not linear in the delays: E[AL] is not the AL of the
// expected delays. They are estimated from sampled paths; those of the expected
// delays are given too, under that name.
//
// Delays do not depend on what follows an output that chose nothing: everything
// is read by then. So it is alpha under `absorb`, whose missing mass is that of
// having chosen nothing so far, that tells the delays under every `end`; nor do
// they depend on how a choice is weighted, so all mechanisms that choose by the
// monotonic scan share them.
#ifndef ATTNBENCH_HARNESS_LATENCY_EXPECTED_LATENCY_H_
#define ATTNBENCH_HARNESS_LATENCY_EXPECTED_LATENCY_H_

#include <vector>

#include "harness/latency/latency.h"

namespace attnbench {

// True of mechanisms that choose by the scan: they are online, and draw from
// p_choose or energies.
bool ChoosesByScan(const Description& description);

struct ExpectedLatency {
  std::vector<double> delays;  // E[g(i)], [U]
  double ap = 0;               // E[AP]
  Latency of_expected_delays;  // its ap is `ap`; the others are no expectation
};

// Of a sequence with given p_choose or energies [U, T], U and T > 0, `config`
// of a mechanism that chooses by the scan. Writes dE[AP]/d scores where
// `gradients` has data, p_choose or energies as they were given. Option `noise`
// is that of the expectation. O(U T). Thread-safe.
ExpectedLatency ExpectLatency(const Config& config,
                              const Sequence<double>& sequence,
                              Index reference_length,
                              const Gradients<double>& gradients);

// How far means of so many paths are from what is expected.
struct BatchError {
  Index paths = 0;    // in a batch
  Index batches = 0;  // disjoint ones
  double rms = 0;     // root of the mean squared error of their means

  static void Fields(auto& self, auto& visit) {
    visit("paths", self.paths);
    visit("batches", self.batches);
    visit("rms", self.rms);
  }
};

// Of batches of 1, 4, 16, ... values, as long as there are at least
// kFewestBatches of them: the values are cut into batches in their order, what
// is left over is not used.
inline constexpr Index kFewestBatches = 16;
std::vector<BatchError> BatchErrors(std::span<const double> values,
                                    double expected);

// Means over sampled paths.
struct SampledLatency {
  Latency mean;
  Latency standard_error;  // of the mean
  std::vector<double> ap;  // of each path
};

// Decodes the sequence `num_paths` >= 2 times, choosing with probability p from
// inputs.seed, whatever mode, schedule and variant `config` is of. Throws
// Unsupported. Thread-safe.
SampledLatency SampleLatency(const Mechanism<double>& mechanism,
                             const Config& config,
                             const Sequence<double>& sequence,
                             Index reference_length, Index num_paths);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_LATENCY_EXPECTED_LATENCY_H_
