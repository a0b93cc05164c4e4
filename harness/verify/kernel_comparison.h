// What the files of kernel subjects share: comparisons with the loops in long
// double, and inputs that cancel.
#ifndef ATTNBENCH_HARNESS_VERIFY_KERNEL_COMPARISON_H_
#define ATTNBENCH_HARNESS_VERIFY_KERNEL_COMPARISON_H_

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "harness/verify/kernel_subjects.h"
#include "mechanisms/kernels/error_bounds.h"
#include "mechanisms/kernels/scalar_kernels.h"

namespace attnbench::kernel_subjects {

using Wide = long double;
template <class T>
using Array = std::vector<T>;
using Errors = std::vector<WorstError>;
template <class Real>
constexpr bool kSingle = sizeof(Real) == sizeof(float);
template <class Real>
constexpr Wide kUnit = std::numeric_limits<Real>::epsilon() / 2;
template <class Real>
constexpr Wide kLeast = std::numeric_limits<Real>::denorm_min();

Array<Wide> Widened(const auto& array) { return {array.begin(), array.end()}; }

inline Array<Wide> Magnitudes(Array<Wide> array) {
  for (Wide& value : array) value = std::abs(value);
  return array;
}

Wide SumOfMagnitudes(const auto& array) {
  Wide sum = 0;
  for (const auto value : array) sum += std::abs(static_cast<Wide>(value));
  return sum;
}

// The unit in the last place; below the normal numbers, the least of these.
template <class Real>
Wide UlpOf(Wide exact) {
  const auto rounded = static_cast<Real>(exact);
  const Real next =
      std::nextafter(rounded, std::numeric_limits<Real>::infinity());
  return std::abs(exact) < std::numeric_limits<Real>::min()
             ? std::numeric_limits<Real>::min()
             : static_cast<Wide>(next) - rounded;
}

template <class Real>
void AddUlps(const Array<Real>& found, const Array<Wide>& exact, double bound,
             WorstError& worst) {
  for (std::size_t n = 0; n < found.size(); ++n) {
    worst.Add(found[n] - exact[n], UlpOf<Real>(exact[n]), bound);
  }
}

// The unit is `share` of `magnitudes`.
template <class Real>
void AddShares(const Array<Real>& found, const Array<Wide>& exact,
               const Array<Wide>& magnitudes, Wide share, double bound,
               Wide floor, WorstError& worst) {
  for (std::size_t n = 0; n < found.size(); ++n) {
    worst.Add(found[n] - exact[n], share * magnitudes[n], bound, floor);
  }
}

KernelInput<Wide> WidenedInput(const auto& in) {
  KernelInput<Wide> wide;
  for (const auto& array : in) wide.push_back(Widened(array));
  return wide;
}

// ---- inputs that cancel -----------------------------------------------------

// Neighbours of opposite signs, whose sum is a few roundings.
template <class Real>
void AlternateSigns(KernelRandom& random, Array<Real>& values) {
  for (std::size_t n = 1; n < values.size(); n += 2) {
    values[n] =
        -values[n - 1] * (1 + static_cast<Real>(random.Uniform(-1e-6, 1e-6)));
  }
}

// Close to multiples of log(2) / 2, times `factor`: exp subtracts them.
template <class Real>
void NearLogarithms(KernelRandom& random, double factor, double most,
                    Array<Real>& values) {
  for (Real& value : values) {
    const double half = factor * std::numbers::ln2 / 2;
    value = static_cast<Real>(std::round(random.Uniform(-most, most) / half) *
                                  half +
                              random.Uniform(-1e-6, 1e-6));
  }
}

template <class Real>
void Spread(KernelRandom& random, double low, double high,
            Array<Real>& values) {
  for (Real& value : values) {
    value = static_cast<Real>(std::exp2(random.Uniform(low, high)));
  }
}

}  // namespace attnbench::kernel_subjects

#endif  // ATTNBENCH_HARNESS_VERIFY_KERNEL_COMPARISON_H_
