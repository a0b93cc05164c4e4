// Guards against sums in near-linear time that miss an octave, a pair or
// digits, wherever numbers lie; and against pairs in short blocks that leave
// their block.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

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
  std::vector<Real> x, a, a2;
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
  return {Numbers(Input<Real>(x)), Numbers(Input<Real>(a)),
          Numbers(Input<Real>(a2))};
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

template <class Real>
void ExpectBoth(const Side<Real>& left, const Side<Real>& right) {
  ExpectWithinBounds<Real>("cauchy_sums", {left.x, left.a, right.x, right.a});
  ExpectWithinBounds<Real>(
      "cauchy_moments", {left.x, left.a, left.a2, right.x, right.a, right.a2});
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
std::vector<Real> Drawn(std::mt19937& generator, Index count, double zeros) {
  std::uniform_real_distribution<double> uniform(0.01, 1);
  std::vector<double> values;
  for (Index n = 0; n < count; ++n) {
    const double value = uniform(generator);
    values.push_back(uniform(generator) < zeros ? 0 : value);
  }
  return Numbers(Input<Real>(values));
}

TYPED_TEST(CauchyKernelsTest, ShortBlocksAddEveryPairOfTheirOwn) {
  using Real = TypeParam;
  std::mt19937 generator(5);
  for (const Index count : Lengths()) {
    for (const double zeros : {0.0, 0.5, 1.0}) {
      SCOPED_TRACE("length " + std::to_string(count));
      const auto e = Drawn<Real>(generator, count, 0),
                 start = Drawn<Real>(generator, count, zeros),
                 p = Drawn<Real>(generator, count, zeros);
      ExpectWithinBounds<Real>("adaptive_blocks", {e, start, p, {}, p});
    }
  }
}

TYPED_TEST(CauchyKernelsTest, ShortBlocksHaveTheirDerivatives) {
  using Real = TypeParam;
  std::mt19937 generator(6);
  for (const Index count : Lengths()) {
    for (const double zeros : {0.0, 0.5}) {
      SCOPED_TRACE("length " + std::to_string(count));
      const auto e = Drawn<Real>(generator, count, 0),
                 weighted = Drawn<Real>(generator, count, 0),
                 start = Drawn<Real>(generator, count, zeros);
      auto p = Drawn<Real>(generator, count, zeros);
      if (count > 3) p[3] = 1;
      ExpectWithinBounds<Real>("adaptive_blocks_backward",
                               {e, start, p, weighted, p});
    }
  }
}

// What the kernels make is added to what is there, and the sum rounded.
TYPED_TEST(CauchyKernelsTest, ShortBlocksAddToWhatTheirArraysHold) {
  using Real = TypeParam;
  std::mt19937 generator(7);
  for (const std::string& level : SimdLevels()) {
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    for (const Index count : Lengths()) {
      SCOPED_TRACE(level + " length " + std::to_string(count));
      std::vector<std::vector<Real>> in(4);
      for (auto& array : in) array = Drawn<Real>(generator, count, 0.3);
      in[0] = Drawn<Real>(generator, count, 0);
      const std::vector<double> passed(Size(count), 0.7);
      const auto run = [&](std::vector<std::vector<Real>> out) {
        kernels.adaptive_blocks(in[0].data(), in[1].data(), in[2].data(),
                                passed.data(), count, out[4].data());
        kernels.adaptive_blocks_backward(
            in[0].data(), in[3].data(), in[1].data(), in[2].data(),
            passed.data(), count, out[0].data(), out[1].data(), out[2].data(),
            out[3].data());
        return out;
      };
      std::vector<std::vector<Real>> held(5);
      for (auto& array : held) array = Drawn<Real>(generator, count, 0);
      const auto alone = run({5, std::vector<Real>(Size(count))}),
                 sums = run(held);
      for (std::size_t n = 0; n < 5; ++n) {
        for (std::size_t j = 0; j < passed.size(); ++j) {
          const Wide exact = static_cast<Wide>(held[n][j]) + alone[n][j];
          ASSERT_LE(std::abs(sums[n][j] - exact),
                    kUnit<Real> * (std::abs(exact) + std::abs(alone[n][j])))
              << n << " " << j;
        }
      }
    }
  }
}

}  // namespace
}  // namespace attnbench::testing
