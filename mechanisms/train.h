// The training expectations, and gradients, of a batch: what the harness times
// in modes expect and gradient. Sequences are independent, so results are
// bit-identical for every number of threads.
#ifndef ATTNBENCH_MECHANISMS_TRAIN_H_
#define ATTNBENCH_MECHANISMS_TRAIN_H_

#include "mechanisms/mechanism.h"

namespace attnbench {

// One sequence with all that training reads and writes. Only mode gradient
// reads `cotangent` and `gradients`. Sequences of one batch must not share
// `gradients.parameters`: who wants the sum adds them up in a fixed order.
template <class Real>
struct TrainingSequence {
  Sequence<Real> sequence;
  Expectation<Real> expectation;
  Cotangent<Real> cotangent;
  Gradients<Real> gradients;
};

// Calls Expect or Gradient, as config.mode says, for every sequence, on
// `threads` OpenMP threads with a SequenceTrainer each. An exception of a
// sequence reaches the caller once no thread works any more.
template <class Real>
void TrainBatch(const Mechanism<Real>& mechanism, const Config& config,
                std::span<const TrainingSequence<Real>> batch, int threads);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_TRAIN_H_
