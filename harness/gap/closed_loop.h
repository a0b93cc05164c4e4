// The room `gap` measures how far training is from decoding in a decoder whose
// next state depends on its last context. With states given, alpha (MAD eq 9)
// is the distribution of the entry that the sampled process chooses, and
// `attnbench verify` proves it. With contexts fed back, training feeds expected
// contexts, so alpha is a mean field: gap.h says which parts the gap has.
//
// This header is what the room sees of a decoder: its memory, its states and
// its outputs. How it chooses is MAD's monotonic scan in all of the room.
#ifndef ATTNBENCH_HARNESS_GAP_CLOSED_LOOP_H_
#define ATTNBENCH_HARNESS_GAP_CLOSED_LOOP_H_

#include <span>

#include "harness/base/arrays.h"

namespace attnbench {

// A decoder over one memory, teacher-forced: what output i reads beside its
// last state and context is fixed. It is immutable, so threads may share it.
class ClosedLoop {
 public:
  virtual ~ClosedLoop() = default;
  virtual Index num_outputs() const = 0;                // U
  virtual MatrixView<const double> memory() const = 0;  // [T, d]
  virtual Index state_size() const = 0;                 // n
  virtual Index vocabulary() const = 0;                 // V
  // Writes the state before the first output [n].
  virtual void FirstState(std::span<double> state) const = 0;
  // Makes s_i of s_{i-1}, which stands in `state` [n], and of c_{i-1} [d],
  // zeros before the first output.
  virtual void Advance(Index i, std::span<const double> context,
                       std::span<double> state) const = 0;
  // Writes e(i, j) [T], which s_i gives.
  virtual void Energies(std::span<const double> state,
                        std::span<double> energies) const = 0;
  // Writes p(y | s_i, c_i) [V].
  virtual void Probabilities(std::span<const double> state,
                             std::span<const double> context,
                             std::span<double> p) const = 0;
};

// What a process says of each output: how entries and outputs are distributed.
// In the last column of `entries` is the probability that none is chosen.
struct Marginals {
  Table<double> entries;  // [U, T + 1]
  Table<double> outputs;  // [U, V]

  Marginals() = default;
  explicit Marginals(const ClosedLoop& loop)
      : entries(loop.num_outputs(), loop.memory().rows + 1),
        outputs(loop.num_outputs(), loop.vocabulary()) {}
};

// Adds scale x to `sum`.
void AddScaled(std::span<const double> x, double scale, std::span<double> sum);

// Makes probabilities of logits.
void SoftmaxInPlace(std::span<double> logits);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_GAP_CLOSED_LOOP_H_
