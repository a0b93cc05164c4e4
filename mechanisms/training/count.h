// Exact operations of training, for the mechanisms whose attention follows from
// [U, T] tables of scores.
#ifndef ATTNBENCH_MECHANISMS_TRAINING_COUNT_H_
#define ATTNBENCH_MECHANISMS_TRAINING_COUNT_H_

#include <limits>

#include "mechanisms/mechanism.h"

namespace attnbench {

// Flops of an AttentionFunction by the algorithm of `exact`: for each entry of
// an output, and for each of the T (T + 1) / 2 pairs (start, choice) where an
// algorithm goes through them. Where it does so only in blocks of the memory,
// each entry takes something for every doubling of the block beyond that.
struct FunctionCost {
  double forward = 0;
  double backward = 0;
  double forward_pair = 0;
  double backward_pair = 0;
  double longest_block = kWholeMemory;
  double forward_doubling = 0;
  double backward_doubling = 0;

  static constexpr double kWholeMemory =
      std::numeric_limits<double>::infinity();
};

// This is Mechanism::Count in modes expect and gradient: the tables of scores
// and attention (U rows of T numbers), the energies unless scores are given,
// and the contexts unless only attention is made.
template <class Real>
Operations CountTraining(const Config& config, const CountedWork& work,
                         bool has_chunk_energies, const FunctionCost& cost);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_TRAINING_COUNT_H_
