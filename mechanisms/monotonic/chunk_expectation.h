// This is how the distribution of the scan becomes attention: the one step of
// training in which monotonic, mocha and matcha differ, as ChunkRule is of
// decoding. Where there is none (monotonic, and mocha with w = 1) attention is
// selection.
#ifndef ATTNBENCH_MECHANISMS_MONOTONIC_CHUNK_EXPECTATION_H_
#define ATTNBENCH_MECHANISMS_MONOTONIC_CHUNK_EXPECTATION_H_

#include <span>

#include "mechanisms/kernels/kernels.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

// One output; every array is [T].
template <class Number>
struct ChoiceRow {
  std::span<const Number> start;       // distribution of where the scan begins
  std::span<const Number> p;           // p_choose; 1 at the end of stay_last
  std::span<const Number> complement;  // 1 - p where that would be nothing but
                                       // the rounding of p; empty: 1 minus p
  std::span<const Number> selection;   // alpha
  std::span<const Number> chunk_energies;  // u

  // 1 - p(j), in Carry: a 1 - p that was rounded in f32 would lose the same
  // share at every entry of a long memory.
  Carry<Number> Passed(std::size_t j) const {
    const auto passed = 1 - static_cast<Carry<Number>>(p[j]);
    return complement.empty() || p[j] <= Number{0.5} ? passed : complement[j];
  }
};

// dL/d of a ChoiceRow. Where p moves, complement moves against it: `p` is the
// total derivative. `start` and `selection` go on to the outputs before.
template <class Number>
struct ChoiceRowGradient {
  std::span<Carry<Number>> start;      // added to
  std::span<Number> p;                 // added to
  std::span<Carry<Number>> selection;  // added to
  std::span<Number> chunk_energies;    // written
};

// One object serves one sequence: it may keep scratch between calls.
template <class Number>
class ChunkExpectation {
 public:
  virtual ~ChunkExpectation() = default;
  // Writes attention [T].
  virtual void Forward(const ChoiceRow<Number>& row,
                       std::span<Number> attention) = 0;
  virtual void Backward(const ChoiceRow<Number>& row,
                        std::span<const Number> d_attention,
                        const ChoiceRowGradient<Number>& gradient) = 0;
};

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_MONOTONIC_CHUNK_EXPECTATION_H_
