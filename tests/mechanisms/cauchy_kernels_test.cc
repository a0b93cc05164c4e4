// Guards against sums in near-linear time that miss an octave, a pair or
// digits, wherever numbers lie; and against pairs in short blocks that leave
// their block.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "mechanisms/kernels/error_bounds.h"
#include "tests/support/kernel_arrays.h"

namespace attnbench::testing {
namespace {

template <class Real>
class CauchyKernelsTest : public ::testing::Test {};
TYPED_TEST_SUITE(CauchyKernelsTest, Precisions);

enum class Weights { kPositive, kCancelling, kFewNotZero };

// A side of pairs: numbers in order, and two weights.
template <class Real>
struct Side {
  GuardedArray<Real> x, a, a2;

  Index size() const { return x.size(); }
};

template <class Real>
Side<Real> MakeSide(std::mt19937& generator, std::vector<double> x,
                    Weights weights) {
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> a, a2;
  for (std::size_t n = 0; n < x.size(); ++n) {
    const double sign =
        weights == Weights::kCancelling && uniform(generator) < 0.5 ? -1 : 1;
    const bool is_zero =
        weights == Weights::kFewNotZero && uniform(generator) < 0.98;
    a.push_back(is_zero ? 0 : sign * uniform(generator));
    a2.push_back(is_zero ? 0 : uniform(generator) - 0.5);
  }
  return {Input<Real>(x), Input<Real>(a), Input<Real>(a2)};
}

// Running sums of exp(u), as MAtChA has them.
std::vector<double> Sums(std::mt19937& generator, Index count, double range) {
  std::uniform_real_distribution<double> uniform(-range, 0);
  std::vector<double> sums;
  double sum = 0;
  for (Index n = 0; n < count; ++n) {
    sums.push_back(sum += std::exp(uniform(generator)));
  }
  return sums;
}

std::vector<double> Spread(std::mt19937& generator, Index count, double low,
                           double high) {
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> x;
  for (Index n = 0; n < count; ++n) x.push_back(std::exp2(uniform(generator)));
  std::ranges::sort(x);
  return x;
}

std::vector<double> Falling(std::vector<double> x) {
  std::ranges::reverse(x);
  return x;
}

// Expects each number to err by at most that share of the sum of magnitudes.
template <class Real>
void ExpectClose(const GuardedArray<Real>& found,
                 const std::vector<Wide>& exact,
                 const std::vector<Wide>& magnitudes, double share) {
  EXPECT_TRUE(found.GuardsIntact());
  for (Index n = 0; n < found.size(); ++n) {
    const Wide error = std::abs(found[n] - exact[Size(n)]);
    const Wide bound = share * magnitudes[Size(n)];
    if (!(error <= bound)) {
      FAIL() << "element " << n << " of " << found.size() << ": " << found[n]
             << " instead of " << exact[Size(n)] << ", "
             << static_cast<double>(error / magnitudes[Size(n)])
             << " of the sum";
    }
  }
}

std::vector<Wide> Magnitudes(std::vector<Wide> values) {
  for (Wide& value : values) value = std::abs(value);
  return values;
}

template <class Real>
void ExpectSums(const std::string& level, const Side<Real>& left,
                const Side<Real>& right) {
  auto rows = Output<Real>(left.size()), columns = Output<Real>(right.size());
  KernelsAt<Real>(level).cauchy_sums(left.x.data(), left.a.data(), left.size(),
                                     right.x.data(), right.a.data(),
                                     right.size(), rows.data(), columns.data());
  const auto x = Widened(left.x), y = Widened(right.x);
  const auto sums = [&](const std::vector<Wide>& a,
                        const std::vector<Wide>& b) {
    std::array<std::vector<Wide>, 2> made = {std::vector<Wide>(x.size()),
                                             std::vector<Wide>(y.size())};
    ScalarKernels<Wide>().cauchy_sums(x.data(), a.data(), left.size(), y.data(),
                                      b.data(), right.size(), made[0].data(),
                                      made[1].data());
    return made;
  };
  const auto a = Widened(left.a), b = Widened(right.a);
  const auto exact = sums(a, b), all = sums(Magnitudes(a), Magnitudes(b));
  ExpectClose(rows, exact[0], all[0], kCauchyError<Real>);
  ExpectClose(columns, exact[1], all[1], kCauchyError<Real>);
}

template <class Real>
void ExpectMoments(const std::string& level, const Side<Real>& left,
                   const Side<Real>& right) {
  std::vector<GuardedArray<Real>> rows(4, Output<Real>(left.size())),
      columns(4, Output<Real>(right.size()));
  const auto pointers = [](auto& arrays) {
    return std::array{arrays[0].data(), arrays[1].data(), arrays[2].data(),
                      arrays[3].data()};
  };
  KernelsAt<Real>(level).cauchy_moments(
      left.x.data(), left.a.data(), left.a2.data(), left.size(), right.x.data(),
      right.a.data(), right.a2.data(), right.size(), pointers(rows).data(),
      pointers(columns).data());
  const auto x = Widened(left.x), y = Widened(right.x);
  const auto moments = [&](const auto& change) {
    std::vector<std::vector<Wide>> of_rows(4, std::vector<Wide>(x.size())),
        of_columns(4, std::vector<Wide>(y.size()));
    ScalarKernels<Wide>().cauchy_moments(
        x.data(), change(Widened(left.a)).data(),
        change(Widened(left.a2)).data(), left.size(), y.data(),
        change(Widened(right.a)).data(), change(Widened(right.a2)).data(),
        right.size(), pointers(of_rows).data(), pointers(of_columns).data());
    return std::array{of_rows, of_columns};
  };
  const auto exact = moments(std::identity()), all = moments(Magnitudes);
  for (std::size_t n = 0; n < 4; ++n) {
    SCOPED_TRACE("moment " + std::to_string(n));
    const double share = n < 2 ? kCauchyError<Real> : kCauchySquareError<Real>;
    ExpectClose(rows[n], exact[0][n], all[0][n], share);
    ExpectClose(columns[n], exact[1][n], all[1][n], share);
  }
}

template <class Real>
void ExpectBoth(const Side<Real>& left, const Side<Real>& right) {
  for (const std::string& level : SimdLevels()) {
    SCOPED_TRACE(level);
    ExpectSums(level, left, right);
    ExpectMoments(level, left, right);
  }
}

TYPED_TEST(CauchyKernelsTest, RunningSumsMeetInEveryLength) {
  using Real = TypeParam;
  std::mt19937 generator(1);
  for (const Index rows : {1, 7, 40, 300, 1100}) {
    for (const Index count : {1, 37, 513, 2000}) {
      for (const double range : {0.0, 3.0, 30.0}) {
        SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(count) +
                     ", range " + std::to_string(range));
        ExpectBoth(
            MakeSide<Real>(generator, Falling(Sums(generator, rows, range)),
                           Weights::kPositive),
            MakeSide<Real>(generator, Sums(generator, count, range),
                           Weights::kCancelling));
      }
    }
  }
}

TYPED_TEST(CauchyKernelsTest, OctavesFarApartMeet) {
  using Real = TypeParam;
  std::mt19937 generator(2);
  constexpr double kMost = sizeof(Real) == sizeof(float) ? 50 : 250;
  for (const double apart : {0.0, 1.0, 2.0, 20.0, kMost}) {
    SCOPED_TRACE(apart);
    const auto near = MakeSide<Real>(generator, Spread(generator, 500, 0, 3),
                                     Weights::kCancelling);
    const auto far = MakeSide<Real>(
        generator, Falling(Spread(generator, 600, -apart - 2, -apart)),
        Weights::kPositive);
    ExpectBoth(near, far);
    ExpectBoth(far, near);
  }
}

// There are more octaves than have moments, and each has many numbers.
TYPED_TEST(CauchyKernelsTest, MoreOctavesThanThereIsRoomForAreStillRight) {
  using Real = TypeParam;
  std::mt19937 generator(3);
  ExpectBoth(MakeSide<Real>(generator, Spread(generator, 5000, -50, 50),
                            Weights::kPositive),
             MakeSide<Real>(generator, Spread(generator, 90, -50, 50),
                            Weights::kCancelling));
}

TYPED_TEST(CauchyKernelsTest, EqualNumbersAndPowersOfTwoAreOfOneOctave) {
  using Real = TypeParam;
  std::mt19937 generator(4);
  std::vector<double> powers;
  for (const double power : {0.25, 0.5, 1.0, 2.0}) {
    powers.insert(powers.end(), 100, power);
  }
  std::vector<double> equal(300, 1);
  std::vector<double> edges(300, std::nextafter(Real{1}, Real{0}));
  edges.insert(edges.end(), 300, 2 * edges[0]);
  for (const auto& x : {powers, equal, edges}) {
    ExpectBoth(
        MakeSide<Real>(generator, x, Weights::kPositive),
        MakeSide<Real>(generator, Falling(powers), Weights::kFewNotZero));
  }
}

// ---- short blocks ----

template <class Real>
GuardedArray<Real> Drawn(std::mt19937& generator, Index count, double zeros) {
  std::uniform_real_distribution<double> uniform(0.01, 1);
  std::vector<double> values;
  for (Index n = 0; n < count; ++n) {
    const double value = uniform(generator);
    values.push_back(uniform(generator) < zeros ? 0 : value);
  }
  return Input<Real>(values);
}

template <class Real>
std::vector<double> PassedOf(const GuardedArray<Real>& p) {
  std::vector<double> passed;
  for (Index n = 0; n < p.size(); ++n) {
    passed.push_back(1 - static_cast<double>(p[n]));
  }
  return passed;
}

TYPED_TEST(CauchyKernelsTest, ShortBlocksAddEveryPairOfTheirOwn) {
  using Real = TypeParam;
  std::mt19937 generator(5);
  for (const std::string& level : SimdLevels()) {
    for (const Index count : Lengths()) {
      for (const double zeros : {0.0, 0.5, 1.0}) {
        SCOPED_TRACE(level + " length " + std::to_string(count));
        const auto e = Drawn<Real>(generator, count, 0),
                   start = Drawn<Real>(generator, count, zeros),
                   p = Drawn<Real>(generator, count, zeros);
        const auto passed = PassedOf(p);
        auto beta = Output<Real>(count);
        std::vector<Wide> exact(Size(count), kOutputGuard);
        for (Index n = 0; n < count; ++n) beta[n] = 0;
        std::ranges::fill(exact, 0);
        ScalarKernels<Wide>().adaptive_blocks(
            Widened(e).data(), Widened(start).data(), Widened(p).data(),
            passed.data(), count, exact.data());
        KernelsAt<Real>(level).adaptive_blocks(e.data(), start.data(), p.data(),
                                               passed.data(), count,
                                               beta.data());
        // All terms are positive and summed in f64; one rounding is Real's.
        ExpectRelative(beta, exact,
                       kUnit<Real> + kAdaptiveError * kUnit<double>);
      }
    }
  }
}

// With respect to e, weighted, start and p, which is the order of `in`, too.
using Gradients = std::array<std::vector<Wide>, 4>;
Gradients ScalarGradients(const Gradients& in,
                          const std::vector<double>& passed) {
  Gradients made;
  made.fill(std::vector<Wide>(passed.size(), 0));
  ScalarKernels<Wide>().adaptive_blocks_backward(
      in[0].data(), in[1].data(), in[2].data(), in[3].data(), passed.data(),
      std::ssize(passed), made[0].data(), made[1].data(), made[2].data(),
      made[3].data());
  return made;
}

// The sums of magnitudes, of inputs that are not negative. That of p is A - B
// with B in proportion to p.
Gradients GradientTerms(Gradients in, const std::vector<double>& passed) {
  Gradients all = ScalarGradients(in, passed);
  std::ranges::fill(in[3], 0);
  const std::vector<Wide> first = ScalarGradients(in, passed)[3];
  for (std::size_t n = 0; n < first.size(); ++n) {
    all[3][n] = 2 * first[n] - all[3][n];
  }
  all[0] = Magnitudes(all[0]);
  return all;
}

TYPED_TEST(CauchyKernelsTest, ShortBlocksHaveTheirDerivatives) {
  using Real = TypeParam;
  std::mt19937 generator(6);
  for (const std::string& level : SimdLevels()) {
    for (const Index count : Lengths()) {
      for (const double zeros : {0.0, 0.5}) {
        SCOPED_TRACE(level + " length " + std::to_string(count));
        const auto e = Drawn<Real>(generator, count, 0),
                   weighted = Drawn<Real>(generator, count, 0),
                   start = Drawn<Real>(generator, count, zeros);
        auto p = Drawn<Real>(generator, count, zeros);
        if (count > 3) p[3] = 1;
        const auto passed = PassedOf(p);
        std::vector<GuardedArray<Real>> found;
        std::vector<std::vector<Wide>> held;
        for (int n = 0; n < 4; ++n) {
          found.push_back(Drawn<Real>(generator, count, 0));
          held.push_back(Widened(found.back()));
        }
        const Gradients in = {Widened(e), Widened(weighted), Widened(start),
                              Widened(p)};
        const Gradients added = ScalarGradients(in, passed);
        const Gradients all = GradientTerms(in, passed);
        KernelsAt<Real>(level).adaptive_blocks_backward(
            e.data(), weighted.data(), start.data(), p.data(), passed.data(),
            count, found[0].data(), found[1].data(), found[2].data(),
            found[3].data());
        for (std::size_t n = 0; n < 4; ++n) {
          SCOPED_TRACE(n);
          for (std::size_t j = 0; j < passed.size(); ++j) {
            const Wide exact = held[n][j] + added[n][j];
            // What is added is rounded to Real, and the sum.
            const Wide bound =
                kUnit<Real> * (std::abs(added[n][j]) + std::abs(exact)) +
                kAdaptiveBackwardError * kUnit<double> * all[n][j];
            const Wide error =
                std::abs(found[n][static_cast<Index>(j)] - exact);
            if (!(error <= bound)) {
              FAIL() << j << " error " << error << ", bound " << bound;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace attnbench::testing
