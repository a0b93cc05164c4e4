// Guards against a function of each element that is right at one SIMD level or
// length only, worse than its documented error, or not a number where it
// saturates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
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

TYPED_TEST(ElementKernelsTest,
           ExpSumIsWithinItsBoundAndTheSameInThePlaceOfItsEnergies) {
  using Real = TypeParam;
  std::mt19937 generator(8);
  for (const Index length : Lengths()) {
    for (const double range : {1.0, 30.0, 1e4}) {
      SCOPED_TRACE("length " + std::to_string(length) + " range " +
                   std::to_string(range));
      GuardedArray<Real> energies(length, kNaN<Real>);
      Fill(generator, length, range, energies.data());
      const Real shift =
          length == 0 ? 0
                      : BestKernels<Real>().largest(energies.data(), length);
      ExpectWithinBounds<Real>("exp_sum", {Numbers(energies), {shift}});
      for (const std::string& level : SimdLevels()) {
        const Kernels<Real>& kernels = KernelsAt<Real>(level);
        auto weights = Output<Real>(length), in_place = energies;
        kernels.exp_sum(energies.data(), shift, length, weights.data());
        kernels.exp_sum(in_place.data(), shift, length, in_place.data());
        EXPECT_TRUE(SameBits(in_place.data(), weights.data(), length));
        for (Index k = 0; k < length; ++k) EXPECT_GE(weights[k], 0);
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
  for (const Index length : Lengths()) {
    for (const double range : {0.1, 20.0, kReach}) {
      SCOPED_TRACE("length " + std::to_string(length));
      GuardedArray<Real> x(length, kNaN<Real>);
      Fill(generator, length, range, x.data());
      ExpectWithinBounds<Real>("sigmoid", {Numbers(x)});
      for (const std::string& level : SimdLevels()) {
        const Kernels<Real>& kernels = KernelsAt<Real>(level);
        auto alone = Output<Real>(length), y = alone, complement = alone;
        kernels.sigmoid(x.data(), length, alone.data(), nullptr);
        kernels.sigmoid(x.data(), length, y.data(), complement.data());
        EXPECT_TRUE(alone.GuardsIntact());
        EXPECT_TRUE(SameBits(alone.data(), y.data(), length));
        auto in_place = x;
        kernels.sigmoid(x.data(), length, in_place.data(), complement.data());
        EXPECT_TRUE(SameBits(in_place.data(), y.data(), length));
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
