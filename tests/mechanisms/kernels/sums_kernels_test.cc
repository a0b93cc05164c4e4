// Guards against a window off by one, or summed by a difference that cancels;
// against scratch that is written past its end; and against sums of reciprocals
// that lack a row, a tail or digits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "mechanisms/kernels/error_bounds.h"
#include "tests/support/kernel_arrays.h"

namespace attnbench::testing {
namespace {

template <class Real>
class SumsKernelsTest : public ::testing::Test {};
TYPED_TEST_SUITE(SumsKernelsTest, Precisions);

// Positive numbers over thirty powers of ten, in no order.
template <class Real>
GuardedArray<Real> WideRange(std::mt19937& generator, Index count) {
  std::uniform_real_distribution<double> exponent(-15, 15);
  GuardedArray<Real> x(count, kNaN<Real>);
  for (Index n = 0; n < count; ++n) {
    x[n] = static_cast<Real>(std::pow(10.0, exponent(generator)));
  }
  return x;
}

std::set<Index> Widths(Index count) {
  std::set<Index> widths = {1, 2, 3, Index{1} << 62};
  for (const Index width : {7, 8, 9, 15, 16, 17, 18, 31, 32, 33, 40}) {
    widths.insert(width);
  }
  for (const Index width : {count / 2, count - 1, count, count + 1}) {
    if (width > 0) widths.insert(width);
  }
  return widths;
}

template <class Real>
void ExpectSums(const GuardedArray<Real>& x, Index width) {
  std::vector<Real> factors(Size(x.size()));
  for (std::size_t k = 0; k < factors.size(); ++k) {
    factors[k] = static_cast<Real>(k + 1) / 7;
  }
  for (const char* const kernel : {"sums_from", "ratios_up_to"}) {
    ExpectWithinBounds<Real>(kernel,
                             {Numbers(x), factors, {static_cast<Real>(width)}});
  }
}

TYPED_TEST(SumsKernelsTest, EveryWindowIsRightRelativeToItsOwnSum) {
  using Real = TypeParam;
  std::mt19937 generator(1);
  std::set<Index> lengths = Lengths();
  lengths.insert({150, 300});
  for (const Index count : lengths) {
    const auto x = WideRange<Real>(generator, count);
    for (const Index width : Widths(count)) {
      SCOPED_TRACE("length " + std::to_string(count) + " width " +
                   std::to_string(width));
      ExpectSums(x, width);
    }
  }
}

// A huge entry that leaves the window takes nothing with it.
TYPED_TEST(SumsKernelsTest, AHugeEntryLeavesNoTraceBehindItsWindows) {
  using Real = TypeParam;
  constexpr Index kCount = 200;
  for (const Index width : {4, 16, 17, 50}) {
    for (const Index at : {0, 49, 50, 51, 100, 199}) {
      SCOPED_TRACE("width " + std::to_string(width) + " at " +
                   std::to_string(at));
      GuardedArray<Real> x(kCount, kNaN<Real>);
      for (Index n = 0; n < kCount; ++n) x[n] = 1;
      x[at] = Real(1e30);
      ExpectSums(x, width);
    }
  }
}

TYPED_TEST(SumsKernelsTest, ALongWindowIsWithinItsBound) {
  using Real = TypeParam;
  constexpr Index kCount = 3000;
  std::mt19937 generator(2);
  const auto x = WideRange<Real>(generator, kCount);
  for (const Index width : {1000, 2999, 3000}) {
    SCOPED_TRACE("width " + std::to_string(width));
    ExpectSums(x, width);
  }
}

// The kernel adds to `column_sums`.
TYPED_TEST(SumsKernelsTest, ReciprocalSumsAddEveryPairOnce) {
  using Real = TypeParam;
  std::mt19937 generator(3);
  for (const std::string& level : SimdLevels()) {
    for (const Index count : Lengths()) {
      for (Index rows = 0; rows < 10; ++rows) {
        SCOPED_TRACE(level + " rows " + std::to_string(rows) + " count " +
                     std::to_string(count));
        const auto x = WideRange<Real>(generator, rows),
                   a = WideRange<Real>(generator, rows),
                   y = WideRange<Real>(generator, count),
                   b = WideRange<Real>(generator, count);
        auto row_sums = Output<Real>(rows), column_sums = Output<Real>(count);
        std::vector<Wide> exact_rows(Size(rows));
        Fill(generator, count, 1, column_sums.data());
        for (Index l = 0; l < count; ++l) {
          column_sums[l] = std::abs(column_sums[l]);
        }
        auto exact_columns = Widened(column_sums);
        ScalarKernels<Wide>().reciprocal_sums(
            Widened(x).data(), Widened(a).data(), rows, Widened(y).data(),
            Widened(b).data(), count, exact_rows.data(), exact_columns.data());
        KernelsAt<Real>(level).reciprocal_sums(
            x.data(), a.data(), rows, y.data(), b.data(), count,
            row_sums.data(), column_sums.data());
        ExpectRelative(
            row_sums, exact_rows,
            ReciprocalRowError(count, LanesAt<Real>(level)) * kUnit<Real>);
        ExpectRelative(column_sums, exact_columns,
                       ReciprocalColumnError(rows) * kUnit<Real>);
      }
    }
  }
}

// The column sums of one row are the reciprocals.
TYPED_TEST(SumsKernelsTest, AReciprocalIsGoodToThreeUlp) {
  using Real = TypeParam;
  constexpr Index kCount = 50000;
  std::mt19937 generator(4);
  const bool single = sizeof(Real) == sizeof(float);
  // These are the ends of the documented range, without x.
  const Real smallest = std::numeric_limits<Real>::min();
  const Real greatest = std::ldexp(Real(1), single ? 125 : 1000);
  auto y = Input<Real>(std::vector<double>(kCount, 0));
  std::uniform_real_distribution<double> uniform(1, 2);
  for (Index l = 0; l < kCount; ++l) {
    y[l] = static_cast<Real>(uniform(generator));
  }
  for (Index l = 0; l < 40; ++l) {
    y[l] = l % 2 == 0 ? smallest * y[l] : greatest / y[l];
  }
  const auto b = Input<Real>(std::vector<double>(kCount, 0));
  for (const std::string& level : SimdLevels()) {
    SCOPED_TRACE(level);
    const Real x = 0, a = 1;
    Real row_sum = kNaN<Real>;
    auto reciprocals = Input<Real>(std::vector<double>(kCount, 0));
    KernelsAt<Real>(level).reciprocal_sums(
        &x, &a, 1, y.data(), b.data(), kCount, &row_sum, reciprocals.data());
    EXPECT_EQ(row_sum, 0);
    for (Index l = 0; l < kCount; ++l) {
      const Wide ulp = ErrorInUlp(reciprocals[l], 1 / static_cast<Wide>(y[l]));
      if (!(ulp <= 3)) FAIL() << "1 / " << y[l] << ": " << ulp << " ULP";
    }
  }
}

}  // namespace
}  // namespace attnbench::testing
