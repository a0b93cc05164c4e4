// Helpers of tests of kernels: arrays that show a read or write beyond them,
// lengths around the lane count, and a kernel's oracle.
#ifndef ATTNBENCH_TESTS_SUPPORT_KERNEL_ARRAYS_H_
#define ATTNBENCH_TESTS_SUPPORT_KERNEL_ARRAYS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "mechanisms/common/array.h"
#include "mechanisms/kernels/errors/guarded_array.h"
#include "mechanisms/kernels/errors/subjects.h"
#include "mechanisms/kernels/scalar_kernels.h"

namespace attnbench::testing {

using Precisions = ::testing::Types<float, double>;

using Wide = long double;

// Half the machine epsilon.
template <class Real>
constexpr Wide kUnit = std::numeric_limits<Real>::epsilon() / 2;

// The lengths lie around every lane count that there is.
inline std::set<Index> Lengths() {
  std::set<Index> lengths = {0, 1};
  for (const Index N : {2, 4, 8, 16}) {
    lengths.insert(
        {N - 1, N, N + 1, 3 * N, 4 * N - 1, 4 * N, 4 * N + 1, 8 * N + 2});
  }
  return lengths;
}

template <class Real>
double LanesAt(const std::string& level) {
  return static_cast<double>(KernelsAt<Real>(level).lanes);
}

template <class Real>
constexpr Real kNaN = std::numeric_limits<Real>::quiet_NaN();
inline constexpr int kOutputGuard = 12345;

template <class Real>
void Fill(std::mt19937& generator, Index count, double range, Real* values) {
  std::uniform_real_distribution<double> uniform(-range, range);
  for (Index n = 0; n < count; ++n) {
    values[n] = static_cast<Real>(uniform(generator));
  }
}

// Rows whose stride exceeds their length, with NaN between them.
template <class Real>
struct PaddedRows {
  PaddedRows(std::mt19937& generator, Index count, Index dim, double range)
      : stride(dim + 3), values(count * stride, kNaN<Real>) {
    for (Index j = 0; j < count; ++j) Fill(generator, dim, range, Row(j));
  }
  Real* Row(Index j) { return values.data() + j * stride; }
  const Real* Row(Index j) const { return values.data() + j * stride; }
  Index stride;
  GuardedArray<Real> values;
};

// An input, with NaN on either side.
template <class Real>
GuardedArray<Real> Input(const std::vector<double>& values) {
  GuardedArray<Real> input(std::ssize(values), kNaN<Real>);
  for (Index n = 0; n < input.size(); ++n) {
    input[n] = static_cast<Real>(values[Size(n)]);
  }
  return input;
}
template <class Real>
GuardedArray<Real> Output(Index size) {
  return {size, kOutputGuard};
}

// The oracle takes wider numbers.
template <class Real>
std::vector<Wide> Widened(const GuardedArray<Real>& array) {
  return {array.data(), array.data() + array.size()};
}

template <class Real>
bool SameBits(const Real* a, const Real* b, Index count) {
  // memcmp needs pointers even to nothing.
  return count == 0 || std::memcmp(a, b, Size(count) * sizeof(Real)) == 0;
}

// The distance from the exact value in units of its last place.
template <class Real>
Wide ErrorInUlp(Real value, Wide exact) {
  const Real rounded = static_cast<Real>(exact);
  const Real next =
      std::nextafter(rounded, std::numeric_limits<Real>::infinity());
  return std::abs(value - exact) / (static_cast<Wide>(next) - rounded);
}

template <class Real>
void ExpectWithin(const GuardedArray<Real>& values,
                  const std::vector<Wide>& exact, Wide tolerance) {
  EXPECT_TRUE(values.GuardsIntact());
  ASSERT_EQ(values.size(), std::ssize(exact));
  for (Index n = 0; n < values.size(); ++n) {
    if (!(std::abs(values[n] - exact[Size(n)]) <= tolerance)) {
      FAIL() << "element " << n << ": " << values[n] << " instead of "
             << exact[Size(n)];
    }
  }
}

// Expects that every element differs from the exact one by no more than `share`
// of it, and what a number below the normal ones cannot show.
template <class Real>
void ExpectRelative(const GuardedArray<Real>& values,
                    const std::vector<Wide>& exact, Wide share,
                    Wide floor = std::numeric_limits<Real>::denorm_min()) {
  EXPECT_TRUE(values.GuardsIntact());
  ASSERT_EQ(values.size(), std::ssize(exact));
  for (Index n = 0; n < values.size(); ++n) {
    const Wide error = std::abs(values[n] - exact[Size(n)]);
    const Wide tolerance = share * std::abs(exact[Size(n)]) + floor;
    if (!(error <= tolerance)) {
      FAIL() << "element " << n << ": " << values[n] << " instead of "
             << exact[Size(n)];
    }
  }
}

// The arrays that a kernel reads, in the order of its subject.
template <class Real>
using KernelInput = kernel_errors::Arrays<Real>;
template <class Real>
std::vector<Real> Numbers(const GuardedArray<Real>& array) {
  return {array.data(), array.data() + array.size()};
}

// Expects a kernel to keep its bounds for this input, at every level.
template <class Real>
void ExpectWithinBounds(const std::string& kernel,
                        const KernelInput<Real>& in) {
  using Subject = kernel_errors::Subject<Real>;
  static const std::vector<Subject> subjects =
      kernel_errors::AllSubjects<Real>();
  const auto subject = std::ranges::find(subjects, kernel, &Subject::kernel);
  ASSERT_NE(subject, subjects.end()) << kernel;
  for (const std::string& level : SimdLevels()) {
    const auto errors = subject->measure(KernelsAt<Real>(level), in);
    for (std::size_t r = 0; r < errors.size(); ++r) {
      EXPECT_LE(errors[r].error, errors[r].bound)
          << subject->results[r].what << " of " << kernel << " at " << level;
    }
  }
}

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_KERNEL_ARRAYS_H_
