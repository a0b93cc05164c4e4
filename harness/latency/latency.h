// Measures how far an online decoder lags behind its input, in the metrics that
// simultaneous translation uses. All of them follow from the delays g(i) alone:
// the number of entries that were read before output i, i = 1..U. For T entries
// and U outputs, a decoder that keeps pace reads 1/gamma = T/U entries for each
// output. Then
//
//   AP    average proportion        sum of g(i) / (T U)
//   AL    average lagging           mean of g(i) - (i-1)/gamma over the outputs
//                                   up to the first with g(i) >= T
//   LAAL  length-adaptive AL        the same, gamma = max(U, reference) / T
//   DAL   differentiable AL         mean of g'(i) - (i-1)/gamma over all
//                                   outputs, g'(1) = g(1) and
//                                   g'(i) = max(g(i), g'(i-1) + 1/gamma)
//
// AP is a share, the others are in entries. An output that chose nothing has
// read the whole memory, g(i) = T, and so has every output after it, wherever
// it looks.
//
// All are pure functions. Sums of whole delays are whole numbers, so the
// figures are the same on every machine; example:
// tests/harness/latency/latency_test.cc
#ifndef ATTNBENCH_HARNESS_LATENCY_LATENCY_H_
#define ATTNBENCH_HARNESS_LATENCY_LATENCY_H_

#include <optional>
#include <span>
#include <vector>

#include "harness/base/document.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

struct Latency {
  double ap = 0;    // 0..1
  double al = 0;    // entries; below 0 where outputs come before their input
  double laal = 0;  // entries
  double dal = 0;   // entries

  static void Fields(auto& self, auto& visit) {
    visit("ap", self.ap, Rule{.minimum = 0, .maximum = 1});
    visit("al", self.al);
    visit("laal", self.laal);
    visit("dal", self.dal, kAtLeastZero);
  }
  friend bool operator==(const Latency&, const Latency&) = default;
};

inline constexpr double Latency::*kLatencyFigures[] = {
    &Latency::ap, &Latency::al, &Latency::laal, &Latency::dal};

// The g(i) of a decoder's steps: the furthest end of the entries that its heads
// weighted, the whole memory where one of them weighted nothing, and never less
// than before.
std::vector<double> DelaysOf(std::span<const StepTrace> steps,
                             Index memory_length);

// The metrics of delays in 0..T. `reference_length` is the number of outputs
// that there should have been, for LAAL; with that of the sequence itself LAAL
// is AL. None if T or U is 0.
std::optional<Latency> LatencyOf(std::span<const double> delays,
                                 Index memory_length, Index reference_length);

// The mean over sequences; those without a latency are left out.
class LatencyMean {
 public:
  void Add(const std::optional<Latency>& latency);
  void Add(const LatencyMean& other);
  // The mean; none if nothing was added.
  std::optional<Latency> Mean() const;

 private:
  Latency sum_;
  Index count_ = 0;
};

// How decoding by the threshold went, which chooses entries with p >= 1/2. All
// outputs count, those of end symbols too.
struct ThresholdDecoding {
  double zero_contexts = 0;
  double memory_read = 0;  // of a sequence with an output without a choice: 1
  std::optional<Latency> latency = {};

  static void Fields(auto& self, auto& visit) {
    visit("zero_contexts", self.zero_contexts,
          Rule{.description = "share of outputs that choose no entry",
               .minimum = 0,
               .maximum = 1});
    visit("memory_read", self.memory_read,
          Rule{.description = "share of the memory that the last output has "
                              "read, mean over sequences",
               .minimum = 0,
               .maximum = 1});
    visit("latency", self.latency, Rule{.description = "mean over sequences"});
  }
};

// A sequence that was decoded: what each of its outputs, of one head, chose.
struct DecodedSteps {
  std::vector<StepTrace> steps = {};
  Index memory_length = 0;
};

// None of the sequences is empty.
ThresholdDecoding SummaryOf(std::span<const DecodedSteps> sequences);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_LATENCY_LATENCY_H_
