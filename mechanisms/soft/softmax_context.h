// softmax over a run of memory entries, and the context it weights:
//
//   c = sum over j in [begin, end) of softmax(e)_j h_j      (MAD eqs 2 and 3)
//
// Soft attention is this over the whole memory, MoChA and MAtChA over a chunk.
// It takes one pass: a block of entries stays in the first-level cache between
// its energies and its share of the context, with a running maximum, so a
// memory under `dot` is read once instead of twice.
#ifndef ATTNBENCH_MECHANISMS_SOFT_SOFTMAX_CONTEXT_H_
#define ATTNBENCH_MECHANISMS_SOFT_SOFTMAX_CONTEXT_H_

#include <algorithm>
#include <cmath>
#include <limits>

#include "mechanisms/energy/energy.h"
#include "mechanisms/kernels/kernels.h"

namespace attnbench {

template <class Real>
class SoftmaxContext {
 public:
  explicit SoftmaxContext(bool want_weights)
      : kernels_(BestKernels<Real>()), want_weights_(want_weights) {}

  // Writes the context [d], zeros where the run is empty; exact for any finite
  // energies. Returns the weights, none unless they were wanted.
  std::span<const Real> Mix(Energy<Real>& energy,
                            const MatrixView<const Real>& memory, Index begin,
                            Index end, std::span<Real> context) {
    Start(context);
    Extend(energy, memory, begin, end, context, [](Index, auto) {});
    return Finish(context);
  }

  // The same in pieces, for a run whose end is not known beforehand: Start, an
  // Extend for each piece, and Finish. `context` keeps its numbers between the
  // calls. on_block(first, energies) sees each energy once, in order.
  void Start(std::span<Real> context) {
    std::fill(context.begin(), context.end(), Real{0});
    largest_ = -std::numeric_limits<Real>::infinity();
    sum_ = 0;
    length_ = 0;
  }
  template <class OnBlock>
  void Extend(Energy<Real>& energy, const MatrixView<const Real>& memory,
              Index begin, Index end, std::span<Real> context,
              const OnBlock& on_block) {
    const Index dim = memory.cols;
    if (want_weights_) all_.resize(Size(length_ + end - begin));
    Real largest = largest_;
    Real sum = sum_;
    Real block[kBlock];
    for (Index first = begin; first < end; first += kBlock) {
      const Index count = std::min(kBlock, end - first);
      energy.Evaluate(first, count, block);
      on_block(first, std::span<const Real>(block, Size(count)));
      if (want_weights_) std::copy(block, block + count, &all_[Size(length_)]);
      length_ += count;
      const Real block_largest = kernels_.largest(block, count);
      if (block_largest > largest) {
        if (sum > 0) {
          const Real shrink = std::exp(largest - block_largest);
          kernels_.scale(shrink, dim, context.data());
          sum *= shrink;
        }
        largest = block_largest;
      }
      sum += kernels_.exp_sum(block, largest, count, block);
      kernels_.add_rows(block, memory.data + first * memory.row_stride,
                        memory.row_stride, count, dim, context.data());
    }
    largest_ = largest;
    sum_ = sum;
  }
  std::span<const Real> Finish(std::span<Real> context) {
    if (length_ == 0) return {};
    kernels_.scale(1 / sum_, std::ssize(context), context.data());
    if (!want_weights_) return {};
    kernels_.exp_sum(all_.data(), largest_, length_, all_.data());
    kernels_.scale(1 / sum_, length_, all_.data());
    return {all_.data(), Size(length_)};
  }

 private:
  static constexpr Index kBlock = 16;  // rows of d = 256 in f32: 16 KiB
  const Kernels<Real>& kernels_;
  const bool want_weights_;
  UnsetBuffer<Real> all_;  // energies, then weights, of the whole run
  Real largest_ = 0;       // of the energies so far
  Real sum_ = 0;           // of exp(energy - largest_)
  Index length_ = 0;       // entries so far
};

// Flops of a softmax over n energies and of mixing n rows of d: comparison,
// difference, exp and sum for each; then a multiplication and an addition each,
// and the final scaling.
inline double SoftmaxContextFlops(double n, double dim) {
  return n == 0 ? 0 : 4 * n + 2 * n * dim + dim + 1;
}

// Rows that it reads: one for each energy, and the entry itself unless that is
// the row the energy has just read.
inline double SoftmaxContextRows(double n, const EnergyCost& cost) {
  return n * (cost.rows_per_energy + (cost.reads_memory ? 0 : 1));
}

// This is Mechanism::Count in mode decode, if each output weighs the entries
// [begin, end) of its step by the softmax of their energies.
template <class Real>
Operations CountSoftmaxDecoding(const Config& config, const CountedWork& work) {
  const EnergyCost energy = CostOfEnergy(config, EnergyRole::kAttention,
                                         EnergyUse::kMany, work.scores_given);
  const auto d = static_cast<double>(config.dim);
  const auto T = static_cast<double>(work.memory_length);
  Operations total;
  total.flops = T * energy.flops_per_entry;
  total.memory_rows = T * energy.rows_per_entry;
  double other_rows = 0;  // states, parameters and contexts
  for (const StepTrace& step : work.steps) {
    other_rows += 1;
    if (step.begin == step.end) continue;
    const auto n = static_cast<double>(step.end - step.begin);
    total.energies += n;
    total.flops += energy.flops_per_state + n * energy.flops_per_energy +
                   SoftmaxContextFlops(n, d);
    total.memory_rows += SoftmaxContextRows(n, energy);
    other_rows += energy.rows_per_state + n * energy.parameter_rows_per_energy;
  }
  total.bytes = sizeof(Real) * d * (total.memory_rows + other_rows);
  return total;
}

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_SOFT_SOFTMAX_CONTEXT_H_
