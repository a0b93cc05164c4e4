// What a trial of a cell does, and the figures of it that do not depend on the
// clock.
#ifndef ATTNBENCH_HARNESS_MEASURE_TRIAL_H_
#define ATTNBENCH_HARNESS_MEASURE_TRIAL_H_

#include <memory>
#include <span>

#include "harness/inputs/point_inputs.h"
#include "harness/latency/latency.h"
#include "harness/peer/cell.h"

namespace attnbench {

struct Counts {
  Operations operations;
  // Held by the sequences of a draw at their peaks, one after another so that
  // the figure does not depend on threads. What they write into is not theirs.
  Index peak_memory_bytes = 0;
  // What the sequences of a draw read and write that is not the mechanism's
  // own, and the parameters that they share (working_set.h).
  Index view_bytes = 0;
  Index parameter_bytes = 0;
  // Sums over all outputs; NaN where there are none of the kind: no weights of
  // a variant that makes none, no contexts in scope attention.
  double attention_mass = 0;
  double context_sum = 0;
  double context_l2 = 0;
  LatencyMean latency;    // of decoding
  bool is_finite = true;  // everything that was written
};

// Sums; of bytes, the largest.
void Add(const Counts& from, Counts& to);
// The mean from the sum over `num_draws` draws. It is divided once, at the end:
// where all draws did the same, the mean is exactly that.
Counts Mean(Counts sum, int num_draws);

// All draws of a cell, ready to be run, here or in a peer. Not thread-safe;
// what it refers to outlives it.
class Trial {
 public:
  virtual ~Trial() = default;
  virtual int num_draws() const = 0;
  // All outputs of all sequences of a draw: what is timed.
  virtual void Run(int draw) const = 0;
  // Time of each of `trials` trials, the first of them being number
  // `first_trial`; `draws` are cycled by the number of the trial.
  virtual double TimeNs(std::span<const int> draws, Index first_trial,
                        Index trials) const;
  // The same on one thread, untimed.
  virtual Counts Count(int draw) const = 0;
  // The part that is done once for a memory; null where nothing is apart.
  virtual std::unique_ptr<Trial> Preparation() const { return nullptr; }
};

// If `peer` is not null, the cell runs there, what it writes is counted, and
// operations are those of the mechanism.
template <class Real>
std::unique_ptr<Trial> MakeDecodeTrial(const Mechanism<Real>& mechanism,
                                       const Config& config, int threads,
                                       Workload<Real>& workload,
                                       PeerCell<Real>* peer = nullptr);

// The trial of modes expect and gradient.
template <class Real>
std::unique_ptr<Trial> MakeTrainingTrial(const Mechanism<Real>& mechanism,
                                         const Config& config,
                                         const TrainingRequest& request,
                                         int threads, PointInputs<Real>& inputs,
                                         PeerCell<Real>* peer = nullptr);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MEASURE_TRIAL_H_
