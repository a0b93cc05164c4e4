// Guards against a function of each element that is right at one SIMD level or
// length only, worse than its documented error, or not a number where it
// saturates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "mechanisms/kernels/error_bounds.h"
#include "tests/support/kernel_arrays.h"

namespace attnbench::testing {
namespace {

template <class Real>
class ElementKernelsTest : public ::testing::Test {};
TYPED_TEST_SUITE(ElementKernelsTest, Precisions);

// The arguments of tanh: every 97th f32 from 2^-20 to 32, and about as many
// f64.
template <class Real>
std::vector<Real> TanhArguments() {
  std::vector<Real> x;
  if constexpr (sizeof(Real) == sizeof(float)) {
    const auto last = std::bit_cast<std::uint32_t>(32.0f);
    for (auto bits = std::bit_cast<std::uint32_t>(0x1p-20f); bits < last;
         bits += 97) {
      x.push_back(std::bit_cast<float>(bits));
    }
  } else {
    for (Real value = 0x1p-40; value < 40; value *= 1.0001) x.push_back(value);
  }
  return x;
}

TYPED_TEST(ElementKernelsTest, TanhIsGoodToFourUlpAndNeverLeavesMinusOneToOne) {
  using Real = TypeParam;
  const std::vector<Real> x = TanhArguments<Real>();
  const auto count = static_cast<Index>(x.size());
  const std::vector<Wide> wide_x(x.begin(), x.end());
  std::vector<Wide> exact(x.size());
  std::vector<Real> tanh(x.size());
  // Each number is a row of one element.
  const Wide wide_zero = 0, wide_one = 1;
  ScalarKernels<Wide>().additive_rows(&wide_zero, wide_x.data(), 1, &wide_one,
                                      count, 1, exact.data());
  const Real zero = 0, one = 1;
  for (const std::string& level : SimdLevels()) {
    SCOPED_TRACE(level);
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    kernels.additive_rows(&zero, x.data(), 1, &one, count, 1, tanh.data());
    for (std::size_t n = 0; n < x.size(); ++n) {
      const Wide ulp = ErrorInUlp(tanh[n], exact[n]);
      if (!(ulp <= kTanhUlp))
        FAIL() << "tanh " << x[n] << ": " << ulp << " ULP";
      if (!(tanh[n] <= 1)) FAIL() << "tanh " << x[n] << " = " << tanh[n];
    }
  }
}

// The function is odd: this checks the other half of all arguments.
TYPED_TEST(ElementKernelsTest, TanhOfTheNegativeIsTheNegative) {
  using Real = TypeParam;
  std::vector<Real> x, minus_x;
  for (Real value = Real(1e-8); value < 40; value *= Real(1.003)) {
    x.push_back(value);
    minus_x.push_back(-value);
  }
  const auto count = static_cast<Index>(x.size());
  const Real zero = 0, one = 1, minus_one = -1;
  for (const std::string& level : SimdLevels()) {
    SCOPED_TRACE(level);
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    std::vector<Real> tanh(x.size()), other(x.size());
    kernels.additive_rows(&zero, x.data(), 1, &one, count, 1, tanh.data());
    kernels.additive_rows(&zero, minus_x.data(), 1, &minus_one, count, 1,
                          other.data());
    EXPECT_TRUE(SameBits(tanh.data(), other.data(), count));
  }
}

TYPED_TEST(ElementKernelsTest, ScaleRoundsEveryProductOnce) {
  using Real = TypeParam;
  std::mt19937 generator(6);
  const Real factor = static_cast<Real>(1.7);
  for (const std::string& level : SimdLevels()) {
    for (const Index length : Lengths()) {
      SCOPED_TRACE(level + " length " + std::to_string(length));
      GuardedArray<Real> x(length, kOutputGuard);
      Fill(generator, length, 1, x.data());
      const GuardedArray<Real> before = x;
      KernelsAt<Real>(level).scale(factor, length, x.data());
      EXPECT_TRUE(x.GuardsIntact());
      for (Index k = 0; k < length; ++k) EXPECT_EQ(x[k], factor * before[k]);
    }
  }
}

TYPED_TEST(ElementKernelsTest, LargestFindsTheLargestWhereverItStands) {
  using Real = TypeParam;
  std::mt19937 generator(7);
  for (const std::string& level : SimdLevels()) {
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    EXPECT_EQ(kernels.largest(nullptr, 0),
              -std::numeric_limits<Real>::infinity());
    for (const Index length : Lengths()) {
      SCOPED_TRACE(level + " length " + std::to_string(length));
      for (Index at = 0; at < length; ++at) {
        GuardedArray<Real> x(length, kNaN<Real>);
        Fill(generator, length, 1, x.data());
        for (Index k = 0; k < length; ++k) x[k] -= 10;
        x[at] = -3;
        ASSERT_EQ(kernels.largest(x.data(), length), -3);
        x[length - 1 - at] -= 20;
        Real smallest = 0, largest = 0;
        kernels.range(x.data(), length, &smallest, &largest);
        ASSERT_EQ(smallest, x[length - 1 - at]);
        ASSERT_EQ(largest, kernels.largest(x.data(), length));
        x[at] = std::numeric_limits<Real>::quiet_NaN();
        kernels.range(x.data(), length, &smallest, &largest);
        ASSERT_TRUE(std::isnan(smallest) && std::isnan(largest)) << at;
      }
    }
    Real smallest = 0, largest = 0;
    kernels.range(nullptr, 0, &smallest, &largest);
    EXPECT_EQ(largest, -std::numeric_limits<Real>::infinity());
    EXPECT_EQ(smallest, std::numeric_limits<Real>::infinity());
  }
}

TYPED_TEST(ElementKernelsTest, ExpScaledIsWithinThreeUlpInItsUnit) {
  using Real = TypeParam;
  std::mt19937 generator(11);
  const double most = sizeof(Real) == sizeof(float) ? 80 : 600;
  for (const std::string& level : SimdLevels()) {
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    for (const Index length : Lengths()) {
      for (const double centre : {-most + 20, 0.0, most - 20}) {
        SCOPED_TRACE(level + " length " + std::to_string(length));
        GuardedArray<Real> x(length, kNaN<Real>);
        Fill(generator, length, 20, x.data());
        for (Index k = 0; k < length; ++k) x[k] += static_cast<Real>(centre);
        auto y = Output<Real>(length);
        const int power = static_cast<int>(centre * std::numbers::log2e);
        kernels.exp_scaled(x.data(), length, power, y.data());
        EXPECT_TRUE(y.GuardsIntact());
        for (Index k = 0; k < length; ++k) {
          const Wide exact =
              std::ldexp(std::exp(static_cast<Wide>(x[k])), -power);
          EXPECT_LE(ErrorInUlp(y[k], exact), kExpUlp) << x[k];
        }
      }
    }
  }
}

TYPED_TEST(ElementKernelsTest, SoftmaxBackwardIsWithinItsBound) {
  using Real = TypeParam;
  std::mt19937 generator(12);
  for (const std::string& level : SimdLevels()) {
    for (const Index length : Lengths()) {
      SCOPED_TRACE(level + " length " + std::to_string(length));
      GuardedArray<Real> alpha(length, kNaN<Real>), d = alpha;
      Fill(generator, length, 1, alpha.data());
      Fill(generator, length, 1, d.data());
      for (Index k = 0; k < length; ++k) {
        alpha[k] = std::abs(alpha[k]);
        d[k] += 100;  // the difference cancels
      }
      auto found = Output<Real>(length);
      KernelsAt<Real>(level).softmax_backward(alpha.data(), d.data(), length,
                                              found.data());
      EXPECT_TRUE(found.GuardsIntact());
      std::vector<Wide> exact(Size(length));
      ScalarKernels<Wide>().softmax_backward(
          Widened(alpha).data(), Widened(d).data(), length, exact.data());
      Wide mean = 0, magnitude = 0;
      for (Index k = 0; k < length; ++k) {
        const Wide term = static_cast<Wide>(alpha[k]) * d[k];
        mean += term;
        magnitude += std::abs(term);
      }
      // The difference, the product and its rounding err by a unit each.
      const double lanes =
          std::max(1.0, LanesAt<Real>(level) * sizeof(Real) / sizeof(double));
      const Wide of_mean = SoftmaxBackwardError(length, lanes) * magnitude;
      for (Index k = 0; k < length; ++k) {
        const Wide bound =
            kUnit<Real> * std::abs(exact[Size(k)]) +
            kUnit<double> * alpha[k] *
                (of_mean + 2 * std::abs(static_cast<Wide>(d[k]) - mean));
        const Wide error = std::abs(found[k] - exact[Size(k)]);
        if (!(error <= bound)) FAIL() << k << " error " << error;
      }
    }
  }
}

TYPED_TEST(ElementKernelsTest,
           ExpSumIsWithinThreeUlpAndReturnsTheSumOfItsWeights) {
  using Real = TypeParam;
  std::mt19937 generator(8);
  for (const std::string& level : SimdLevels()) {
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    for (const Index length : Lengths()) {
      for (const double range : {1.0, 30.0, 1e4}) {
        SCOPED_TRACE(level + " length " + std::to_string(length) + " range " +
                     std::to_string(range));
        GuardedArray<Real> energies(length, kNaN<Real>);
        Fill(generator, length, range, energies.data());
        const Real shift =
            length == 0 ? 0 : kernels.largest(energies.data(), length);
        GuardedArray<Real> weights(length, kOutputGuard);
        const Real sum =
            kernels.exp_sum(energies.data(), shift, length, weights.data());
        EXPECT_TRUE(weights.GuardsIntact());
        Wide exact_sum = 0;
        for (Index k = 0; k < length; ++k) {
          const Real difference = energies[k] - shift;
          const Wide exact = std::exp(static_cast<Wide>(difference));
          exact_sum += weights[k];
          if (exact < std::numeric_limits<Real>::min()) {
            if (!(weights[k] >= 0 &&
                  weights[k] <= std::numeric_limits<Real>::min())) {
              FAIL() << "exp " << difference << " = " << weights[k];
            }
          } else if (!(ErrorInUlp(weights[k], exact) <= kExpUlp)) {
            FAIL() << "exp " << difference << " = " << weights[k] << ": "
                   << ErrorInUlp(weights[k], exact) << " ULP";
          }
        }
        const Wide error = std::abs(sum - exact_sum);
        if (!(error <= static_cast<Wide>(length) * kUnit<Real> * exact_sum)) {
          FAIL() << "sum " << sum << " error " << error;
        }
        kernels.exp_sum(energies.data(), shift, length, energies.data());
        EXPECT_TRUE(SameBits(energies.data(), weights.data(), length));
      }
    }
  }
}

TYPED_TEST(ElementKernelsTest, ExpSumGivesZeroForVeryNegativeEnergies) {
  using Real = TypeParam;
  const Real lowest = std::numeric_limits<Real>::lowest();
  for (const std::string& level : SimdLevels()) {
    SCOPED_TRACE(level);
    for (const Index length : Lengths()) {
      if (length == 0) continue;
      std::vector<Real> energies(Size(length), lowest);
      for (std::size_t k = 0; k < energies.size(); k += 2) energies[k] = -10000;
      energies.back() = 0;
      const Real sum = KernelsAt<Real>(level).exp_sum(energies.data(), 0,
                                                      length, energies.data());
      EXPECT_EQ(sum, 1);
      EXPECT_EQ(energies.back(), 1);
      energies.pop_back();
      EXPECT_THAT(energies, ::testing::Each(Real{0}));
    }
  }
}

TYPED_TEST(ElementKernelsTest, SigmoidIsAccurateOnBothSidesAndSaturates) {
  using Real = TypeParam;
  // exp(-|x|) is a normal number up to here.
  const double kReach = sizeof(Real) == sizeof(float) ? 80 : 700;
  std::mt19937 generator(9);
  for (const std::string& level : SimdLevels()) {
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    for (const Index length : Lengths()) {
      for (const double range : {0.1, 20.0, kReach}) {
        SCOPED_TRACE(level + " length " + std::to_string(length));
        GuardedArray<Real> x(length, kNaN<Real>);
        Fill(generator, length, range, x.data());
        auto y = Output<Real>(length), alone = y, complement = y;
        kernels.sigmoid(x.data(), length, alone.data(), nullptr);
        kernels.sigmoid(x.data(), length, y.data(), complement.data());
        EXPECT_TRUE(y.GuardsIntact() && complement.GuardsIntact());
        EXPECT_TRUE(SameBits(alone.data(), y.data(), length));
        for (Index k = 0; k < length; ++k) {
          const Wide ulp =
              ErrorInUlp(y[k], 1 / (1 + std::exp(-static_cast<Wide>(x[k]))));
          if (!(ulp <= kSigmoidUlp))
            FAIL() << "sigmoid " << x[k] << ": " << ulp << " ULP";
          const Wide other = ErrorInUlp(
              complement[k], 1 / (1 + std::exp(static_cast<Wide>(x[k]))));
          if (!(other <= kSigmoidUlp))
            FAIL() << "1 - sigmoid " << x[k] << ": " << other << " ULP";
        }
        kernels.sigmoid(x.data(), length, x.data(), complement.data());
        EXPECT_TRUE(SameBits(x.data(), y.data(), length));
      }
    }
  }
}

// `z` lies apart from both, or in the place of either.
TYPED_TEST(ElementKernelsTest, SumsProductsAndQuotientsAreRoundedOnce) {
  using Real = TypeParam;
  std::mt19937 generator(10);
  for (const std::string& level : SimdLevels()) {
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    const auto check = [&](const auto& kernel, const auto& exact) {
      for (const Index length : Lengths()) {
        SCOPED_TRACE(level + " length " + std::to_string(length));
        GuardedArray<Real> x(length, kNaN<Real>), y = x;
        Fill(generator, length, 3, x.data());
        Fill(generator, length, 3, y.data());
        auto z = Output<Real>(length);
        kernel(x.data(), y.data(), length, z.data());
        EXPECT_TRUE(z.GuardsIntact());
        for (Index n = 0; n < length; ++n) {
          ASSERT_EQ(z[n], exact(x[n], y[n])) << n;
        }
        auto in_x = x, in_y = y;
        kernel(in_x.data(), y.data(), length, in_x.data());
        kernel(x.data(), in_y.data(), length, in_y.data());
        EXPECT_TRUE(SameBits(in_x.data(), z.data(), length));
        EXPECT_TRUE(SameBits(in_y.data(), z.data(), length));
        EXPECT_TRUE(in_x.GuardsIntact() && in_y.GuardsIntact());
      }
    };
    check(kernels.add, [](Real x, Real y) { return x + y; });
    check(kernels.multiply, [](Real x, Real y) { return x * y; });
  }
}

}  // namespace
}  // namespace attnbench::testing
