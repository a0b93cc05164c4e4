// Helpers of tests of gradients: numerical derivatives, and arrays whose rows
// have padding between them.
#ifndef ATTNBENCH_TESTS_SUPPORT_FINITE_DIFFERENCE_H_
#define ATTNBENCH_TESTS_SUPPORT_FINITE_DIFFERENCE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "harness/stats/central_difference.h"
#include "mechanisms/common/array.h"

namespace attnbench::testing {

// Numbers that a loss depends on, and the gradient to be checked.
struct Differentiated {
  std::string name;
  std::span<double> values;
  std::span<const double> gradient;
};

// Compares every element of the gradient with a central difference, to 1e-6 of
// itself or of a hundredth of the largest element.
template <class Loss>
void ExpectDerivatives(const Differentiated& input, const Loss& loss) {
  constexpr double kStep = 1e-5;
  ASSERT_EQ(input.values.size(), input.gradient.size()) << input.name;
  double largest = 0;
  for (const double g : input.gradient) {
    largest = std::max(largest, std::abs(g));
  }
  for (std::size_t n = 0; n < input.values.size(); ++n) {
    const double expected = CentralDifference(input.values[n], kStep, loss);
    const double error = std::abs(input.gradient[n] - expected);
    const double scale = std::max(std::abs(expected), largest / 100);
    if (!(error <= 1e-6 * scale + 1e-10)) {
      FAIL() << input.name << "[" << n << "] is " << input.gradient[n]
             << ", not " << expected;
    }
  }
}

// Compares likewise along one direction through all inputs at once.
template <class Loss>
void ExpectDirectionalDerivative(const std::vector<Differentiated>& inputs,
                                 const Loss& loss) {
  constexpr double kStep = 1e-5;
  const auto direction = [](std::size_t input, std::size_t n) {
    return std::sin(static_cast<double>(1 + n * n + 7 * input));
  };
  const auto move = [&](double step) {
    for (std::size_t input = 0; input < inputs.size(); ++input) {
      const std::span<double> values = inputs[input].values;
      for (std::size_t n = 0; n < values.size(); ++n) {
        values[n] += step * direction(input, n);
      }
    }
  };
  double actual = 0;
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    const std::span<const double> gradient = inputs[input].gradient;
    ASSERT_EQ(gradient.size(), inputs[input].values.size());
    for (std::size_t n = 0; n < gradient.size(); ++n) {
      actual += gradient[n] * direction(input, n);
    }
  }
  move(kStep);
  const double above = loss();
  move(-2 * kStep);
  const double below = loss();
  move(kStep);
  const double expected = (above - below) / (2 * kStep);
  if (!(std::abs(actual - expected) <= 1e-6 * std::abs(expected))) {
    FAIL() << "is " << actual << ", not " << expected;
  }
}

// Rows of `cols` numbers with NaN between them.
template <class Real>
class Padded {
 public:
  Padded(Index rows, Index cols, Real fill = 0)
      : values_(Size(rows * (cols + kPadding)),
                std::numeric_limits<Real>::quiet_NaN()),
        rows_(rows),
        cols_(cols) {
    for (Index r = 0; r < rows; ++r) std::ranges::fill(View().Row(r), fill);
  }
  explicit Padded(const MatrixView<const Real>& from)
      : Padded(from.rows, from.cols) {
    for (Index r = 0; r < rows_; ++r) {
      std::ranges::copy(from.Row(r), View().Row(r).begin());
    }
  }
  MatrixView<Real> View() {
    return {values_.data(), rows_, cols_, cols_ + kPadding};
  }
  // The rows without their padding.
  std::vector<Real> Rows() {
    std::vector<Real> all;
    for (Index r = 0; r < rows_; ++r) {
      all.insert(all.end(), View().Row(r).begin(), View().Row(r).end());
    }
    return all;
  }
  bool PaddingIsUntouched() const {
    const Index stride = cols_ + kPadding;
    for (Index n = 0; n < rows_ * stride; ++n) {
      if (n % stride >= cols_ && !std::isnan(values_[Size(n)])) return false;
    }
    return true;
  }

 private:
  static constexpr Index kPadding = 3;
  std::vector<Real> values_;
  const Index rows_;
  const Index cols_;
};

// Compares element by element, to `tolerance` of the largest expected one.
template <class Real>
void ExpectClose(std::span<const Real> actual, std::span<const Real> expected,
                 double tolerance, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double largest = 0;
  for (const Real x : expected) {
    largest = std::max(largest, std::abs(static_cast<double>(x)));
  }
  for (std::size_t n = 0; n < actual.size(); ++n) {
    const double error = std::abs(static_cast<double>(actual[n]) -
                                  static_cast<double>(expected[n]));
    if (!(error <= tolerance * largest)) {
      FAIL() << what << "[" << n << "] is " << actual[n] << ", not "
             << expected[n];
    }
  }
}

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_FINITE_DIFFERENCE_H_
