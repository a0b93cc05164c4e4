// The two gates share this: bounds on rounding, and marks for arrays that
// nobody wrote.
#ifndef ATTNBENCH_HARNESS_MEASURE_GATE_ROUNDING_H_
#define ATTNBENCH_HARNESS_MEASURE_GATE_ROUNDING_H_

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/inputs/declared_inputs.h"
#include "mechanisms/energy/parameters.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

// Half the machine epsilon: the relative error of one operation.
template <class Real>
inline constexpr double kRoundoff = std::numeric_limits<Real>::epsilon() / 2;

// The multiply-adds that the reference may take for all draws of a cell.
inline constexpr double kReferenceBudget = 1 << 27;

// Fills an array with NaN: an output left out must not pass with what another
// cell wrote there.
template <class Real>
void Forget(const MatrixView<Real>& array) {
  std::fill_n(array.data, array.rows * array.cols,
              std::numeric_limits<Real>::quiet_NaN());
}

template <class Real>
double LargestAbsolute(const MatrixView<const Real>& matrix) {
  double largest = 0;
  for (Index r = 0; r < matrix.rows; ++r) {
    for (const Real value : matrix.Row(r)) {
      largest = std::max(largest, std::abs(static_cast<double>(value)));
    }
  }
  return largest;
}

// The largest Euclidean norm of a row.
template <class Real>
double LargestNorm(const MatrixView<const Real>& matrix) {
  double largest = 0;
  for (Index r = 0; r < matrix.rows; ++r) {
    double square = 0;
    for (const Real value : matrix.Row(r)) {
      square += static_cast<double>(value) * static_cast<double>(value);
    }
    largest = std::max(largest, square);
  }
  return std::sqrt(largest);
}

// The sum of |v|, the larger of attention and chunk energies; 0 unless energies
// are additive. Kernels of additive energies err by units of it, however small
// the states are. Ordinary inputs stay below 6 of them; the certain bound, in
// error_bounds.h, would let real mistakes pass.
template <class Real>
double SumOfAbsoluteV(const Sequence<Real>& sequence, const Config& config) {
  if (!IsAdditive(config.energy)) return 0;
  double largest = 0;
  for (const EnergyRole role : {EnergyRole::kAttention, EnergyRole::kChunk}) {
    const MatrixView<const Real> v =
        GetEnergyParameters(config, *sequence.inputs.parameters, role).v;
    double sum = 0;
    for (const Real value : v.Row(0)) {
      sum += std::abs(static_cast<double>(value));
    }
    if (IsScaled(config.energy)) {
      sum *= std::abs(EnergyScale(config, sequence.inputs)) / LargestNorm(v);
    }
    largest = std::max(largest, sum);
  }
  return largest;
}

// exp(-746) is 0 in f64, so an energy this far below the largest has weight 0.
inline constexpr double kLastExponent = 746;

// The bound on how far rounding moves an energy, or a score of Britz: the delta
// of decode_gate.h. Computed ones are inner products: sqrt(d)/2 + 8 units of
// the product of norms, a probabilistic bound (Higham and Mary 2019) for the
// partial sums of the kernels. Given ones are only shifted by their maximum,
// and so are captured ones, as far as their weights are not 0 (masks of -1e9).
template <class Real>
double EnergyRounding(const Sequence<Real>& sequence, const Config& config) {
  const SequenceInputs<Real>& inputs = sequence.inputs;
  if (!inputs.scores.empty()) {
    double largest = 1;
    for (const auto& [name, scores] : inputs.scores) {
      largest = std::max(largest, LargestAbsolute(scores));
    }
    return 8 * kRoundoff<Real> * largest;
  }
  double states = LargestNorm(sequence.states);
  double entries = LargestNorm(sequence.memory);
  for (const auto& [name, view] : inputs.further) {
    double& norm = HasRowOfOutputs(name) ? states : entries;
    norm = std::max(norm, LargestNorm(view));
  }
  const double scale = std::max(1.0, states) * std::max(1.0, entries);
  double captured = 0;
  for (const auto& [name, table] : inputs.captured) {
    captured =
        std::min(kLastExponent, std::max(captured, LargestAbsolute(table)));
  }
  const double bias =
      std::abs(static_cast<double>(sequence.inputs.energy_bias));
  return kRoundoff<Real> *
         ((std::sqrt(static_cast<double>(config.dim)) / 2 + 8) * scale +
          6 * SumOfAbsoluteV(sequence, config) + 4 * bias + 8 * captured);
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MEASURE_GATE_ROUNDING_H_
