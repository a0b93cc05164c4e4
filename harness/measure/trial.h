// A trial of a cell, and its figures that do not depend on the clock.
#ifndef ATTNBENCH_HARNESS_MEASURE_TRIAL_H_
#define ATTNBENCH_HARNESS_MEASURE_TRIAL_H_

#include <memory>
#include <optional>
#include <span>

#include "harness/inputs/point_inputs.h"
#include "harness/latency/latency.h"
#include "harness/peer/cell.h"
#include "harness/results/cell.h"

namespace attnbench {

struct Counts {
  Operations operations;
  // The bytes that the sequences of a draw held at their peaks, one after
  // another so that the figure does not depend on threads. The arrays that they
  // write into are not counted.
  Index peak_memory_bytes = 0;
  // The bytes of views that the sequences of a draw read and write, and of the
  // parameters that they share (working_set.h).
  Index view_bytes = 0;
  Index parameter_bytes = 0;
  // Sums over all outputs; NaN if there is nothing to add up: a variant that
  // makes no weights, or scope attention, which makes no contexts.
  double attention_mass = 0;
  double context_sum = 0;
  double context_l2 = 0;
  LatencyMean latency;       // only of decoding
  BandFigures band;          // of training by variant `banded`: dense is a sum
  Index band_sequences = 0;  // that have a band
  bool is_finite = true;     // whether everything that was written is
};

// Adds up the sums, and takes the largest of the bytes.
void Add(const Counts& from, Counts& to);
// Makes the mean of the sum over `num_draws` draws. The division comes once, at
// the end, so that equal draws have exactly their value as the mean.
Counts Mean(Counts sum, int num_draws);

// All draws of a cell, ready to be run, here or in a peer. It is not
// thread-safe; what it refers to outlives it.
class Trial {
 public:
  virtual ~Trial() = default;
  virtual int num_draws() const = 0;
  // Makes all outputs of all sequences of a draw: this is timed.
  virtual void Run(int draw) = 0;
  // The time of each of `trials` trials, the first of which has the number
  // `first_trial`; the trial's number picks one of `draws` in turn.
  double TimeNs(std::span<const int> draws, Index first_trial, Index trials);
  // Page faults so far of what runs trials, here or, while it times them, of
  // the peer; none if that does not tell.
  std::optional<double> PageFaults() const;
  // Runs the draw on one thread, untimed, and counts.
  virtual Counts Count(int draw) = 0;
  // The part that is done once for a memory; null if nothing is.
  virtual std::unique_ptr<Trial> Preparation() const { return nullptr; }

 protected:
  std::unique_ptr<PeerDraws> held_;  // null where trials run here
};

// If `peer` is not null, the cell runs there; sums are of what the peer writes,
// and operations are those of our mechanism.
template <class Real>
std::unique_ptr<Trial> MakeDecodeTrial(const Mechanism<Real>& mechanism,
                                       const Config& config, int threads,
                                       Workload<Real>& workload,
                                       PeerCell<Real>* peer = nullptr);

// Makes the trial of modes expect and gradient.
template <class Real>
std::unique_ptr<Trial> MakeTrainingTrial(const Mechanism<Real>& mechanism,
                                         const Config& config,
                                         const TrainingRequest& request,
                                         int threads, PointInputs<Real>& inputs,
                                         PeerCell<Real>* peer = nullptr);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MEASURE_TRIAL_H_
