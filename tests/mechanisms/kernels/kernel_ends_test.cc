// Guards against kernels that do at the ends of their ranges what kernels.h
// does not say: a normal number that is taken for 0, an overflow, a NaN that
// becomes a number, and infinite or denormal numbers that become NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "mechanisms/kernels/error_bounds.h"
#include "tests/support/kernel_arrays.h"

namespace attnbench::testing {
namespace {

template <class Real>
class KernelEndsTest : public ::testing::Test {};
TYPED_TEST_SUITE(KernelEndsTest, Precisions);

template <class Real>
struct Ends {
  using Limits = std::numeric_limits<Real>;
  static constexpr Real kInfinity = Limits::infinity();
  static constexpr Real kMost = Limits::max();
  static constexpr Real kNormal = Limits::min();
  static constexpr Real kDenormal = Limits::denorm_min();
};

// Every SIMD level, and the plain loops that they are compared with.
template <class Real>
void ForEachTable(const std::function<void(const Kernels<Real>&)>& check) {
  for (const std::string& level : SimdLevels()) {
    SCOPED_TRACE(level);
    check(KernelsAt<Real>(level));
  }
  SCOPED_TRACE("plain loops");
  check(ScalarKernels<Real>());
}

// A number in the place `at` of a vector and of its tail, with others around.
template <class Real>
std::vector<Real> Among(Real value, Real others) {
  std::vector<Real> array(37, others);
  array[0] = array[18] = array.back() = value;
  return array;
}

// The number is right to `ulp` units, or, below the normal numbers, by the
// least of these.
template <class Real>
void ExpectNear(Real found, Wide exact, double ulp) {
  const Wide error = std::abs(found - exact);
  const bool is_normal = exact >= Ends<Real>::kNormal;
  EXPECT_TRUE(is_normal ? ErrorInUlp(found, exact) <= ulp
                        : error < Ends<Real>::kNormal)
      << found << " instead of " << exact;
}

// From exp of the largest argument down to 0 of the least.
template <class Real>
std::vector<Real> FallingArguments() {
  constexpr bool kSingle = sizeof(Real) == sizeof(float);
  std::vector<Real> x = {0, -Ends<Real>::kDenormal, -Ends<Real>::kNormal, -1};
  const double last_normal = kSingle ? -87.33 : -708.39;
  for (double past = 0; past < 20; past += 0.05) {
    x.push_back(static_cast<Real>(last_normal - past));
  }
  for (const double far : {-104.0, -745.2, -1e4}) {
    x.push_back(static_cast<Real>(far));
  }
  x.push_back(-Ends<Real>::kMost);
  x.push_back(-Ends<Real>::kInfinity);
  return x;
}

TYPED_TEST(KernelEndsTest, ExpSumTakesNoNormalNumberForNothing) {
  using Real = TypeParam;
  ForEachTable<Real>([](const Kernels<Real>& kernels) {
    for (const Real energy : FallingArguments<Real>()) {
      SCOPED_TRACE(energy);
      std::vector<Real> weights = Among<Real>(energy, 0);
      const auto count = static_cast<Index>(weights.size());
      const Real sum =
          kernels.exp_sum(weights.data(), 0, count, weights.data());
      const Wide exact = std::exp(static_cast<Wide>(energy));
      for (const std::size_t at : {0u, 18u, 36u}) {
        ExpectNear(weights[at], exact, kExpUlp);
      }
      EXPECT_EQ(weights[1], 1);
      EXPECT_LE(std::abs(sum - 34 - 3 * exact), 1e-4L);
    }
    // The most that an energy may exceed the shift by.
    const Real most = sizeof(Real) == sizeof(float) ? 88 : 700;
    Real weight = 0;
    const Real sum = kernels.exp_sum(&most, 0, 1, &weight);
    ExpectNear(weight, std::exp(static_cast<Wide>(most)), kExpUlp);
    EXPECT_EQ(sum, weight);
  });
}

TYPED_TEST(KernelEndsTest, SigmoidAndItsComplementReachZeroAndOne) {
  using Real = TypeParam;
  ForEachTable<Real>([](const Kernels<Real>& kernels) {
    for (const Real falling : FallingArguments<Real>()) {
      for (const Real argument : {falling, -falling}) {
        SCOPED_TRACE(argument);
        const std::vector<Real> x = Among<Real>(argument, 0);
        std::vector<Real> y = x, complement = x;
        kernels.sigmoid(x.data(), static_cast<Index>(x.size()), y.data(),
                        complement.data());
        const Wide wide = argument;
        for (const std::size_t at : {0u, 18u, 36u}) {
          ExpectNear(y[at], 1 / (1 + std::exp(-wide)), kSigmoidUlp);
          ExpectNear(complement[at], 1 / (1 + std::exp(wide)), kSigmoidUlp);
        }
        EXPECT_EQ(y[1], Real(0.5));
      }
    }
  });
  // What is documented: the SIMD kernels flush, the loops do not.
  const Real below =
      std::nextafter(kLeastExponent<Real>, -Ends<Real>::kInfinity);
  for (const std::string& level : SimdLevels()) {
    Real y = 1;
    KernelsAt<Real>(level).sigmoid(&below, 1, &y, nullptr);
    EXPECT_EQ(y, 0) << level;
    KernelsAt<Real>(level).sigmoid(&kLeastExponent<Real>, 1, &y, nullptr);
    EXPECT_GT(y, 0) << level;
  }
  EXPECT_LT(std::exp(static_cast<Wide>(kLeastExponent<Real>)),
            Ends<Real>::kNormal);
}

TYPED_TEST(KernelEndsTest, TanhOfAnyNumberIsWithinMinusOneAndOne) {
  using Real = TypeParam;
  ForEachTable<Real>([](const Kernels<Real>& kernels) {
    const Real zero = 0, one = 1;
    const auto tanh_of = [&](Real x) {
      const std::vector<Real> rows = Among<Real>(x, 0);
      std::vector<Real> energies(rows.size());
      kernels.additive_rows(&zero, rows.data(), 1, &one,
                            static_cast<Index>(rows.size()), 1,
                            energies.data());
      EXPECT_EQ(energies[1], 0);
      return energies.back();
    };
    for (const Real sign : {Real(1), Real(-1)}) {
      EXPECT_EQ(tanh_of(sign * Ends<Real>::kInfinity), sign);
      EXPECT_EQ(tanh_of(sign * Ends<Real>::kMost), sign);
      EXPECT_EQ(tanh_of(sign * Ends<Real>::kNormal),
                sign * Ends<Real>::kNormal);
      EXPECT_EQ(tanh_of(sign * Ends<Real>::kDenormal),
                sign * Ends<Real>::kDenormal);
    }
    EXPECT_TRUE(std::isnan(tanh_of(kNaN<Real>)));
  });
}

TYPED_TEST(KernelEndsTest, ExponentialsOfTheirLastArgumentsAreNumbers) {
  using Real = TypeParam;
  ForEachTable<Real>([](const Kernels<Real>& kernels) {
    const Real limit = kMostQuery<Real>;
    for (const Real sign : {Real(1), Real(-1)}) {
      for (const Real x : {limit, Ends<Real>::kMost, Ends<Real>::kInfinity}) {
        std::vector<Real> e = Among<Real>(sign * x, 0);
        kernels.exp_twice(e.data(), limit, static_cast<Index>(e.size()),
                          e.data());
        ExpectNear(e.back(), std::exp(static_cast<Wide>(2 * sign * limit)),
                   kExpUlp);
        EXPECT_EQ(e[1], 1);
      }
      // Of exp_scaled, up to the last number that is normal.
      const Real most = sizeof(Real) == sizeof(float) ? 80 : 600;
      const int room = std::numeric_limits<Real>::max_exponent - 3;
      const int power = static_cast<int>(
          std::round(static_cast<double>(sign * most) / std::log(2.0)));
      for (const int further : {-room, 0, room}) {
        std::vector<Real> y = Among<Real>(sign * most, sign * most);
        kernels.exp_scaled(y.data(), static_cast<Index>(y.size()),
                           power + further, y.data());
        ExpectNear(y.back(),
                   std::ldexp(std::exp(static_cast<Wide>(sign * most)),
                              -power - further),
                   kExpUlp);
      }
    }
  });
}

TYPED_TEST(KernelEndsTest, FactoredEnergiesAreNumbersWhereverFactorsAre) {
  using Real = TypeParam;
  ForEachTable<Real>([](const Kernels<Real>& kernels) {
    const Real v = static_cast<Real>(kMostV<Real>);
    for (const Real a : {kMostQuery<Real>, -kMostQuery<Real>}) {
      for (const Real b : {kMostKey<Real>, -kMostKey<Real>}) {
        Real exp_query = a, exp_key = b, energy = 0;
        kernels.exp_twice(&exp_query, kMostQuery<Real>, 1, &exp_query);
        kernels.exp_twice(&exp_key, kMostKey<Real>, 1, &exp_key);
        kernels.factored_additive_rows(&exp_query, &exp_key, 1, &v, 1, 1,
                                       &energy);
        const Wide exact = std::tanh(static_cast<Wide>(a) + b) * v;
        EXPECT_LE(std::abs(energy - exact),
                  FactoredRowsError(1, static_cast<double>(kernels.lanes)) *
                      kUnit<Real> * v)
            << a << " " << b;
        const Real weight = Ends<Real>::kMost / 4;
        Real d_query = 0, d_key = 0, d_v = 0;
        kernels.factored_additive_backward(&exp_query, &exp_key, 1, &weight, 1,
                                           1, &d_query, &d_key, &d_v);
        EXPECT_TRUE(std::isfinite(d_query) && std::isfinite(d_key) &&
                    std::isfinite(d_v));
      }
    }
  });
}

TYPED_TEST(KernelEndsTest, RangeSeesInfinityAndNaNAnywhere) {
  using Real = TypeParam;
  ForEachTable<Real>([](const Kernels<Real>& kernels) {
    const auto range_of = [&](Real value) {
      const std::vector<Real> x = Among<Real>(value, 1);
      std::vector<Real> found(2);
      kernels.range(x.data(), static_cast<Index>(x.size()), &found[0],
                    &found[1]);
      return found;
    };
    constexpr Real kInfinity = Ends<Real>::kInfinity;
    EXPECT_EQ(range_of(kInfinity), (std::vector<Real>{1, kInfinity}));
    EXPECT_EQ(range_of(-kInfinity), (std::vector<Real>{-kInfinity, 1}));
    EXPECT_EQ(range_of(Ends<Real>::kDenormal),
              (std::vector<Real>{Ends<Real>::kDenormal, 1}));
    const std::vector<Real> of_nan = range_of(kNaN<Real>);
    EXPECT_TRUE(std::isnan(of_nan[0]) && std::isnan(of_nan[1]));
    const std::vector<Real> least(37, -kInfinity);
    EXPECT_EQ(kernels.largest(least.data(), 37), -kInfinity);
    const std::vector<Real> most = Among<Real>(Ends<Real>::kMost, -kInfinity);
    EXPECT_EQ(kernels.largest(most.data(), 37), Ends<Real>::kMost);
  });
}

// The largest numbers of f32 do not overflow, as the sums are in f64.
TYPED_TEST(KernelEndsTest, ASoftmaxHandsBackTheLargestDerivatives) {
  using Real = TypeParam;
  ForEachTable<Real>([](const Kernels<Real>& kernels) {
    constexpr Real kMost = Ends<Real>::kMost;
    const std::vector<Real> alpha = {Real(0.25), Real(0.25), Real(0.5)};
    std::vector<Real> d = {kMost, kMost, kMost}, found(3);
    kernels.softmax_backward(alpha.data(), d.data(), 3, found.data());
    EXPECT_EQ(found, std::vector<Real>(3));
    d = {Ends<Real>::kDenormal, 0, 0};
    kernels.softmax_backward(alpha.data(), d.data(), 3, found.data());
    for (const Real value : found) EXPECT_LE(std::abs(value), d[0]);
    d[1] = kNaN<Real>;
    kernels.softmax_backward(alpha.data(), d.data(), 3, found.data());
    for (const Real value : found) EXPECT_TRUE(std::isnan(value));
  });
}

// Mass that rounds to 0 in the next row but one is carried no further, the
// least that does not is, and the largest mass stays a number.
TYPED_TEST(KernelEndsTest, TheScanCarriesWhatRoundsToANumber) {
  using Real = TypeParam;
  ForEachTable<Real>([](const Kernels<Real>& kernels) {
    for (const Real mass :
         {Ends<Real>::kMost, Ends<Real>::kNormal, 2 * Ends<Real>::kDenormal}) {
      SCOPED_TRACE(mass);
      constexpr Index kCount = 37;
      const std::vector<Real> p(kCount, Real(0.5));
      std::vector<Carry<Real>> start(kCount), d_start(kCount);
      start[0] = mass;
      std::vector<Real> alpha(kCount), arrived(kCount), d_p(kCount);
      kernels.select_rows(p.data(), kCount, nullptr, start.data(), 1, kCount,
                          alpha.data(), kCount, arrived.data(), kCount);
      for (Index j = 0; j < kCount; ++j) {
        const Wide q =
            std::ldexp(static_cast<Wide>(mass), -static_cast<int>(j));
        const Wide floor = Ends<Real>::kDenormal;
        EXPECT_LE(std::abs(arrived[Size(j)] - q), floor) << j;
        EXPECT_LE(std::abs(alpha[Size(j)] - q / 2), floor) << j;
        EXPECT_LE(std::abs(start[Size(j)] - q / 2), floor) << j;
      }
      // Derivatives of the largest are numbers, too, where q is.
      const std::vector<Real> d(kCount, Ends<Real>::kMost / 2),
          q(kCount, Real(0.5));
      kernels.select_rows_backward(p.data(), kCount, nullptr, q.data(), kCount,
                                   d.data(), kCount, nullptr, 1, kCount,
                                   d_p.data(), kCount, d_start.data());
      for (const Real value : d_p) EXPECT_TRUE(std::isfinite(value));
    }
    // A NaN reaches all that follows it, and nothing before.
    std::vector<Real> p(37, Real(0.5)), alpha(2 * 37);
    p.resize(2 * 37, Real(0.5));
    p[5] = kNaN<Real>;
    std::vector<Carry<Real>> start(37);
    start[0] = 1;
    kernels.select_rows(p.data(), 37, nullptr, start.data(), 2, 37,
                        alpha.data(), 37, nullptr, 0);
    for (std::size_t j = 0; j < 37; ++j) {
      EXPECT_EQ(std::isnan(alpha[j]), j >= 5) << j;
      EXPECT_EQ(std::isnan(alpha[37 + j]), j >= 5) << j;
      EXPECT_EQ(std::isnan(start[j]), j >= 5) << j;
    }
  });
}

TYPED_TEST(KernelEndsTest, SumsOverWindowsGoUpToTheLargestNumber) {
  using Real = TypeParam;
  ForEachTable<Real>([](const Kernels<Real>& kernels) {
    constexpr Real kMost = Ends<Real>::kMost;
    const std::vector<Real> x = {Ends<Real>::kDenormal, kMost / 2, kMost / 2,
                                 kMost, kMost};
    const std::vector<Real> ones(5, 1);
    std::vector<Real> scratch(8), sums(5), ratios(5);
    kernels.sums_from(x.data(), ones.data(), 5, 2, scratch.data(), sums.data());
    EXPECT_EQ(sums[0], kMost / 2);
    EXPECT_EQ(sums[1], kMost);
    EXPECT_EQ(sums[3], Ends<Real>::kInfinity);
    // The ends of the range that a sum has an inverse for.
    const Real most =
        std::ldexp(Real(1), sizeof(Real) == sizeof(float) ? 125 : 1021);
    const std::vector<Real> ends = {Ends<Real>::kNormal, most, 1, 3, 1};
    kernels.ratios_up_to(ends.data(), ones.data(), 5, 1, scratch.data(),
                         ratios.data());
    for (std::size_t k = 0; k < 5; ++k) {
      ExpectNear(ratios[k], 1 / static_cast<Wide>(ends[k]), kRatioError);
    }
  });
}

// At the ends that kernels.h gives for x and y, and weights that may be any.
TYPED_TEST(KernelEndsTest, ReciprocalsAreRightAtTheEndsOfTheirRange) {
  using Real = TypeParam;
  constexpr bool kSingle = sizeof(Real) == sizeof(float);
  ForEachTable<Real>([](const Kernels<Real>& kernels) {
    const Real least = std::ldexp(Real(1), kSingle ? -127 : -1020);
    const Real most = std::ldexp(Real(1), kSingle ? 124 : 1020);
    for (const Real end : {least, most}) {
      const Real weight = end;
      Real row = 0, column = 0;
      kernels.reciprocal_sums(&end, &weight, 1, &end, &weight, 1, &row,
                              &column);
      for (const Real sum : {row, column}) {
        EXPECT_NEAR(sum, 0.5, kReciprocalTermError * kUnit<Real>) << end;
      }
    }
    const int far = kSingle ? 60 : 450;
    std::vector<Real> x, ones;
    for (int n = 0; n < 80; ++n) {
      x.push_back(std::ldexp(Real(1), -far + 2 * far * n / 79));
      ones.push_back(1);
    }
    std::vector<Real> rows(80), columns(80);
    kernels.cauchy_sums(x.data(), ones.data(), 80, x.data(), ones.data(), 80,
                        rows.data(), columns.data());
    for (std::size_t k = 0; k < 80; ++k) {
      Wide exact = 0;
      for (const Real y : x) exact += 1 / (static_cast<Wide>(x[k]) + y);
      EXPECT_LE(std::abs(rows[k] - exact), kCauchyError<Real> * exact);
      EXPECT_LE(std::abs(columns[k] - exact), kCauchyError<Real> * exact);
    }
  });
}

TYPED_TEST(KernelEndsTest, SumsOfProductsKeepInfinityAndNaN) {
  using Real = TypeParam;
  ForEachTable<Real>([](const Kernels<Real>& kernels) {
    const std::vector<Real> ones(37, 1);
    const auto dot_of = [&](Real value) {
      const std::vector<Real> x = Among<Real>(value, 0);
      Real energy = 0;
      kernels.dot_rows(ones.data(), x.data(), 37, 1, 37, &energy);
      return energy;
    };
    EXPECT_EQ(dot_of(Ends<Real>::kDenormal), 3 * Ends<Real>::kDenormal);
    EXPECT_EQ(dot_of(Ends<Real>::kMost), Ends<Real>::kInfinity);
    EXPECT_EQ(dot_of(-Ends<Real>::kInfinity), -Ends<Real>::kInfinity);
    EXPECT_TRUE(std::isnan(dot_of(kNaN<Real>)));
    std::vector<Real> context(37);
    const Real weight = 2;
    const std::vector<Real> row = Among<Real>(Ends<Real>::kMost, 1);
    kernels.add_rows(&weight, row.data(), 37, 1, 37, context.data());
    EXPECT_EQ(context[0], Ends<Real>::kInfinity);
    EXPECT_EQ(context[1], 2);
  });
}

}  // namespace
}  // namespace attnbench::testing
