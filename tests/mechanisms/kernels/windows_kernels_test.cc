// Guards against a window off by one where blocks or pieces of a row meet, a
// row that weighs on the one beside it, a lane without a row that is written,
// and a mean or a gradient that has lost digits.
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
class WindowsKernelsTest : public ::testing::Test {};
TYPED_TEST_SUITE(WindowsKernelsTest, Precisions);

// Rows for the kernel, which are longer than they say; NaN lies between them.
template <class Real>
struct WindowRows {
  WindowRows(Index number_of_rows, Index length)
      : rows(number_of_rows), count(length), powers(Size(rows)) {
    u = alpha = d = Table(kNaN<Real>);
  }
  WindowRows(std::mt19937& generator, Index number_of_rows, Index length)
      : WindowRows(number_of_rows, length) {
    std::uniform_real_distribution<double> energy(-20, 20), weight(0, 1),
        derivative(-1, 1);
    for (Index n = 0; n < rows; ++n) {
      // Every third row has derivatives that do not cancel.
      const double shift = n % 3 == 0 ? 2 : 0;
      for (Index k = 0; k < count; ++k) {
        u[At(n, k)] = static_cast<Real>(energy(generator));
        alpha[At(n, k)] = static_cast<Real>(std::pow(weight(generator), 4));
        d[At(n, k)] = static_cast<Real>(derivative(generator) - shift);
      }
      powers[Size(n)] = 29 - static_cast<int>(n % 4);
    }
  }

  Index stride() const { return count + 3; }
  Index At(Index row, Index k) const { return row * stride() + k; }
  template <class T>
  GuardedArray<T> Table(T value) const {
    return {std::max(rows * stride() - 3, Index{0}), value};
  }

  Index rows, count;
  std::vector<int> powers;
  GuardedArray<Real> u{0, 0}, alpha{0, 0}, d{0, 0};
};

template <class Real>
struct WindowGradients {
  GuardedArray<Carry<Real>> d_alpha;
  GuardedArray<Real> d_u;
};

// Takes the rows from `first` on back.
template <class Real>
WindowGradients<Real> GradientsAt(const std::string& level,
                                  const WindowRows<Real>& in, Index first,
                                  Index rows, Index width) {
  WindowGradients<Real> out{in.Table(Carry<Real>{kOutputGuard}),
                            in.Table(Real{kOutputGuard})};
  auto scratch = Output<double>(WindowsBackwardScratch(width, in.count));
  const Index from = in.At(first, 0);
  KernelsAt<Real>(level).windows_backward(
      in.u.data() + from, in.stride(), in.powers.data() + first,
      in.alpha.data() + from, in.stride(), in.d.data() + from, in.stride(),
      rows, in.count, width, scratch.data(), out.d_alpha.data() + from,
      in.stride(), out.d_u.data() + from, in.stride());
  EXPECT_TRUE(scratch.GuardsIntact());
  EXPECT_TRUE(out.d_alpha.GuardsIntact());
  EXPECT_TRUE(out.d_u.GuardsIntact());
  // Nothing is written between the rows, nor to others.
  for (Index n = 0; n < in.rows; ++n) {
    const bool is_taken = n >= first && n < first + rows;
    const Index end = n + 1 < in.rows ? in.stride() : in.count;
    for (Index k = is_taken ? in.count : 0; k < end; ++k) {
      EXPECT_EQ(out.d_alpha[in.At(n, k)], kOutputGuard);
      EXPECT_EQ(out.d_u[in.At(n, k)], kOutputGuard);
    }
  }
  return out;
}

// The gradients of a row, and the sums of the magnitudes of what they are sums
// of, in long double.
template <class Real>
struct ExactWindows {
  ExactWindows(const WindowRows<Real>& in, Index row, Index width)
      : means(Size(in.count)), d_u(means), mean_terms(means), terms(means) {
    std::vector<Wide> e;
    for (Index k = 0; k < in.count; ++k) {
      e.push_back(std::exp(static_cast<Wide>(in.u[in.At(row, k)])));
    }
    for (Index k = 0; k < in.count; ++k) {
      const Index first = width > k ? 0 : k - width + 1;
      Wide D = 0, mean = 0, magnitude = 0;
      for (Index l = first; l <= k; ++l) {
        const Wide d = in.d[in.At(row, l)];
        D += e[Size(l)];
        mean += e[Size(l)] * d;
        magnitude += e[Size(l)] * std::abs(d);
      }
      means[Size(k)] = mean / D;
      mean_terms[Size(k)] = magnitude / D;
      const Wide weight = in.alpha[in.At(row, k)] / D;
      for (Index l = first; l <= k; ++l) {
        const Wide d = in.d[in.At(row, l)];
        d_u[Size(l)] += weight * e[Size(l)] * (d - means[Size(k)]);
        terms[Size(l)] +=
            weight * e[Size(l)] * (std::abs(d) + mean_terms[Size(k)]);
      }
    }
  }
  std::vector<Wide> means, d_u, mean_terms, terms;
};

// Holds all rows to their bound; products below `floor` may underflow.
template <class Real>
void ExpectWindowGradients(const WindowRows<Real>& in, Index width,
                           Wide floor = 0) {
  std::vector<ExactWindows<Real>> exact;
  for (Index n = 0; n < in.rows; ++n) exact.emplace_back(in, n, width);
  const Wide share =
      kUnit<double> * WindowsBackwardError(std::min(width, in.count));
  for (const std::string& level : SimdLevels()) {
    SCOPED_TRACE(level + " length " + std::to_string(in.count) + " width " +
                 std::to_string(width));
    const auto found = GradientsAt(level, in, 0, in.rows, width);
    for (Index n = 0; n < in.rows; ++n) {
      const ExactWindows<Real>& row = exact[Size(n)];
      for (Index k = 0; k < in.count; ++k) {
        const std::size_t j = Size(k);
        ASSERT_LE(std::abs(found.d_alpha[in.At(n, k)] - row.means[j]),
                  share * row.mean_terms[j])
            << n << " " << k;
        ASSERT_LE(
            std::abs(found.d_u[in.At(n, k)] - row.d_u[j]),
            share * row.terms[j] + kUnit<Real> * std::abs(row.d_u[j]) + floor)
            << n << " " << k;
      }
    }
  }
}

TYPED_TEST(WindowsKernelsTest, GradientsOfEveryWidthAreWithinTheirBound) {
  using Real = TypeParam;
  std::mt19937 generator(1);
  constexpr Index kWhole = std::numeric_limits<Index>::max();
  for (Index count = 0; count <= 70; ++count) {
    std::set<Index> widths = {1, 2, 3, 8, 31, 32, 33, 64, kWhole};
    for (const Index width : {count / 2, count - 1, count, count + 1}) {
      if (width > 0) widths.insert(width);
    }
    for (Index width = 1; count <= 20 && width <= count; ++width) {
      widths.insert(width);
    }
    const WindowRows<Real> rows(generator, 3, count);
    for (const Index width : widths) ExpectWindowGradients(rows, width);
  }
}

// Pieces of a row are whole blocks, of 32 entries and more.
TYPED_TEST(WindowsKernelsTest, GradientsAreRightWherePiecesMeet) {
  using Real = TypeParam;
  std::mt19937 generator(2);
  for (const Index width : {2, 3, 5, 7, 16, 31, 32, 35, 63, 64, 65, 97}) {
    Index piece = width;
    while (piece < 32 || (piece % 4 != 0 && piece < 64)) piece += width;
    for (const Index count : {piece - 1, piece, piece + 1, piece + width,
                              2 * piece - 1, 2 * piece, 3 * piece + 5}) {
      ExpectWindowGradients(WindowRows<Real>(generator, 2, count), width);
    }
  }
}

TYPED_TEST(WindowsKernelsTest, ARowHasTheSameBitsBesideAnyOthers) {
  using Real = TypeParam;
  constexpr Index kRows = 20;
  std::mt19937 generator(3);
  for (const std::string& level : SimdLevels()) {
    for (const Index count : {1, 7, 40, 150}) {
      const WindowRows<Real> in(generator, kRows, count);
      for (const Index width : {1, 3, 8, 33, 64, 200}) {
        SCOPED_TRACE(level + " length " + std::to_string(count) + " width " +
                     std::to_string(width));
        const auto all = GradientsAt(level, in, 0, kRows, width);
        for (const Index rows : {1, 2, 3, 5, 7, 8, 9, 15, 16, 19}) {
          for (Index first = 0; first < kRows; first += rows) {
            const Index part = std::min(rows, kRows - first);
            const auto some = GradientsAt(level, in, first, part, width);
            for (Index n = first; n < first + part; ++n) {
              ASSERT_TRUE(SameBits(all.d_alpha.data() + in.At(n, 0),
                                   some.d_alpha.data() + in.At(n, 0), count));
              ASSERT_TRUE(SameBits(all.d_u.data() + in.At(n, 0),
                                   some.d_u.data() + in.At(n, 0), count));
            }
          }
        }
      }
    }
  }
}

// Energies at the ends of what is moderate, and all that alpha may be.
TYPED_TEST(WindowsKernelsTest, GradientsAreNumbersAtTheEndsOfTheirRange) {
  using Real = TypeParam;
  constexpr bool kSingle = sizeof(Real) == sizeof(float);
  constexpr double kLargest = kSingle ? 80 : 600, kRange = kSingle ? 60 : 400;
  constexpr Index kCount = 100;
  std::mt19937 generator(4);
  const Real tiny = std::numeric_limits<Real>::denorm_min() * 3;
  const Real chances[] = {0, 1, tiny, std::numeric_limits<Real>::min(),
                          Real(0.25)};
  WindowRows<Real> in(generator, 4, kCount);
  for (Index n = 0; n < in.rows; ++n) {
    const double top = n % 2 == 0 ? kLargest : kRange - kLargest;
    for (Index k = 0; k < kCount; ++k) {
      // Single peaks and single valleys, and then steps.
      const bool is_high = n < 2 ? k % 10 == n * 5 : (k / 7) % 2 == 0;
      in.u[in.At(n, k)] = static_cast<Real>(is_high ? top : top - kRange);
      in.alpha[in.At(n, k)] = chances[generator() % 5];
    }
    in.powers[Size(n)] = static_cast<int>(std::rint(top / std::log(2.0)));
  }
  const Wide floor =
      kCount * static_cast<Wide>(std::numeric_limits<Real>::min());
  for (const Index width : {1, 2, 3, 8, 32, 50, 100}) {
    ExpectWindowGradients(in, width, floor);
  }
}

}  // namespace
}  // namespace attnbench::testing
