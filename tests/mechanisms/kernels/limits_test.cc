// Guards against a measured limit that is none: a loop of which the compiler,
// or a dropped tail, leaves less to do than is counted.
#include "mechanisms/kernels/limits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "mechanisms/kernels/kernels.h"

namespace attnbench {
namespace {

using Index = std::int64_t;

// These lengths lie around the lanes of every level, and around the 8 or 4
// vectors of a turn.
std::set<Index> Lengths() {
  std::set<Index> lengths = {0, 1};
  for (const Index N : {2, 4, 8, 16, 32, 64, 128}) {
    lengths.insert({N - 1, N, N + 1, 3 * N, 8 * N + 2});
  }
  return lengths;
}

template <class Real>
constexpr Real kNaN = std::numeric_limits<Real>::quiet_NaN();

template <class Real>
class LimitsTest : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LimitsTest, Precisions);

TYPED_TEST(LimitsTest, EveryLevelHasItsOwnTableAndTheBestIsChosen) {
  using Real = TypeParam;
  std::set<const LimitKernels<Real>*> tables;
  for (const std::string& level : SimdLevels()) {
    tables.insert(&LimitKernelsAt<Real>(level));
  }
  EXPECT_EQ(tables.size(), SimdLevels().size());
  EXPECT_EQ(&ChosenLimitKernels<Real>(), &LimitKernelsAt<Real>(SimdName()));
}

// The numbers are whole, so their sum is exact in any order.
TYPED_TEST(LimitsTest, ReadIsTheSumOfAllNumbersAndOfNoOthers) {
  using Real = TypeParam;
  for (const std::string& level : SimdLevels()) {
    for (const Index length : Lengths()) {
      SCOPED_TRACE(level + " length " + std::to_string(length));
      std::vector<Real> x(static_cast<std::size_t>(length) + 2, kNaN<Real>);
      Real sum = 0;
      for (Index k = 1; k <= length; ++k) {
        x[static_cast<std::size_t>(k)] = static_cast<Real>(k);
        sum += static_cast<Real>(k);
      }
      EXPECT_EQ(LimitKernelsAt<Real>(level).read(x.data() + 1, length), sum);
    }
  }
}

TYPED_TEST(LimitsTest, CopyCopiesAllNumbersAndWritesNoOthers) {
  using Real = TypeParam;
  for (const std::string& level : SimdLevels()) {
    for (const Index length : Lengths()) {
      SCOPED_TRACE(level + " length " + std::to_string(length));
      const auto count = static_cast<std::size_t>(length);
      std::vector<Real> from(count + 2, kNaN<Real>);
      std::vector<Real> wanted(count + 2, Real{-7});
      for (std::size_t k = 1; k <= count; ++k) {
        from[k] = wanted[k] = static_cast<Real>(k);
      }
      std::vector<Real> to(count + 2, Real{-7});
      LimitKernelsAt<Real>(level).copy(from.data() + 1, length, to.data() + 1);
      EXPECT_EQ(to, wanted);
    }
  }
}

TYPED_TEST(LimitsTest, MultiplyAddTakesEveryStepOfEveryNumber) {
  using Real = TypeParam;
  for (const std::string& level : SimdLevels()) {
    const LimitKernels<Real>& kernels = LimitKernelsAt<Real>(level);
    for (const Index steps : {0, 1, 2, 3, 7, 60}) {
      SCOPED_TRACE(level + " steps " + std::to_string(steps));
      double sum = 0;
      for (Index n = 0; n < kernels.chain_numbers; ++n) {
        auto x = static_cast<double>(n);
        for (Index step = 0; step < steps; ++step) x = 0.5 * x + 1;
        sum += x;
      }
      const auto made = static_cast<double>(kernels.multiply_add(steps));
      const double error = std::abs(made - sum);
      const double bound = sum * std::numeric_limits<Real>::epsilon() * 8;
      if (!(error <= bound)) FAIL() << made << " is not " << sum;
    }
  }
}

}  // namespace
}  // namespace attnbench
