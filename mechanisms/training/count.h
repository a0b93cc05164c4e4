// Exact operations of training, for the mechanisms whose attention follows from
// [U, T] tables of scores.
#ifndef ATTNBENCH_MECHANISMS_TRAINING_COUNT_H_
#define ATTNBENCH_MECHANISMS_TRAINING_COUNT_H_

#include "mechanisms/mechanism.h"

namespace attnbench {

// Flops of an AttentionFunction by the algorithm of `exact`: for each entry of
// an output, and for each of the T (T + 1) / 2 pairs (start, choice) where an
// algorithm goes through them.
struct FunctionCost {
  double forward = 0;
  double backward = 0;
  double forward_pair = 0;
  double backward_pair = 0;
};

// This is Mechanism::Count in modes expect and gradient: the tables of scores
// and attention (U rows of T numbers), the energies unless scores are given,
// and the contexts unless only attention is made.
template <class Real>
Operations CountTraining(const Config& config, const CountedWork& work,
                         bool has_chunk_energies, const FunctionCost& cost);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_TRAINING_COUNT_H_
