// Guards against a scan that is right at one SIMD level or length only, that
// loses the mass which a p next to 1 lets pass, whose rounding takes a share of
// the mass at every entry of a long memory or at every one of many rows, or
// whose gradient is another's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "mechanisms/kernels/error_bounds.h"
#include "mechanisms/kernels/flush_denormals.h"
#include "tests/support/finite_difference.h"
#include "tests/support/kernel_arrays.h"

namespace attnbench::testing {
namespace {

constexpr Wide kDoubleUnit = kUnit<double>;

template <class Real>
using Carried = std::vector<Carry<Real>>;
template <class Real>
Carried<Real> CarriedFrom(const Real* values, Index count) {
  return {values, values + count};
}

// p, 1 - p where p is above a half (NaN elsewhere, which nobody may read), and
// the start of the scan.
struct Row {
  std::string name;
  std::vector<double> p, complement, start;
};

// Draws `one_minus_p` with probability `share`, otherwise uniform numbers in
// [0, 1].
Row MakeRow(const std::string& name, std::mt19937& generator, Index count,
            double share, double one_minus_p) {
  std::uniform_real_distribution<double> uniform(0, 1);
  Row row = {.name = name, .p = {}, .complement = {}, .start = {}};
  for (Index j = 0; j < count; ++j) {
    const double passed =
        uniform(generator) < share ? one_minus_p : uniform(generator);
    row.p.push_back(1 - passed);
    row.complement.push_back(passed < 0.5 ? passed : kNaN<double>);
    row.start.push_back(uniform(generator));
  }
  return row;
}

std::vector<Row> MakeRows(std::mt19937& generator, Index count) {
  return {MakeRow("any p", generator, count, 0, 0),
          MakeRow("p of 1", generator, count, 0.3, 0),
          MakeRow("p of 0", generator, count, 0.6, 1),
          MakeRow("p of 0 alone", generator, count, 1, 1),
          MakeRow("p next to 1", generator, count, 0.3, 1e-12),
          MakeRow("small p", generator, count, 0.9, 1 - 1e-3)};
}

// The inputs of the kernels in Real, and of the oracle.
template <class Real>
struct Arrays {
  explicit Arrays(const Row& row)
      : p(Input<Real>(row.p)),
        complement(Input<Real>(row.complement)),
        start(Input<Real>(row.start)),
        wide_p(Widened(p)),
        wide_complement(Widened(complement)),
        wide_start(Widened(start)) {}
  Index count() const { return p.size(); }
  const Real* Complement(bool given) const {
    return given ? complement.data() : nullptr;
  }
  const Wide* WideComplement(bool given) const {
    return given ? wide_complement.data() : nullptr;
  }
  GuardedArray<Real> p, complement, start;
  std::vector<Wide> wide_p, wide_complement, wide_start;
};

template <class Real>
class ScanKernelsTest : public ::testing::Test {};
TYPED_TEST_SUITE(ScanKernelsTest, Precisions);

// Makes one row. `complement` and `arrived` may be null.
template <class Real>
void Select(const Kernels<Real>& kernels, const Real* p,
            std::type_identity_t<const Real*> complement, const Real* start,
            Index count, Real* alpha, std::type_identity_t<Real*> arrived) {
  Carried<Real> carried = CarriedFrom(start, count);
  kernels.select_rows(p, count, complement, carried.data(), 1, count, alpha,
                      count, arrived, count);
}

// Takes one row back; `complement` and `d_alpha` may be null.
template <class Real>
void GoBack(const Kernels<Real>& kernels, const Real* p,
            std::type_identity_t<const Real*> complement, const Real* arrived,
            std::type_identity_t<const Real*> d_alpha, Index count, Real* d_p,
            Carry<Real>* d_start) {
  kernels.select_rows_backward(p, count, complement, arrived, count, d_alpha,
                               count, nullptr, 1, count, d_p, count, d_start);
}

// Expects one row to be within its bounds, also where nobody asks for arrived.
template <class Real>
void ExpectSelect(const Arrays<Real>& in, bool has_complement) {
  ExpectWithinBounds<Real>("select_rows", {Numbers(in.p),
                                           Numbers(in.complement),
                                           Numbers(in.start),
                                           {Real(has_complement)}});
  for (const std::string& level : SimdLevels()) {
    auto alpha = Output<Real>(in.count()), arrived = alpha, alone = alpha;
    for (auto* const row : {&alpha, &alone}) {
      Select(KernelsAt<Real>(level), in.p.data(), in.Complement(has_complement),
             in.start.data(), in.count(), row->data(),
             row == &alpha ? arrived.data() : nullptr);
    }
    EXPECT_TRUE(alone.GuardsIntact());
    EXPECT_TRUE(SameBits(alone.data(), alpha.data(), in.count()));
  }
}

TYPED_TEST(ScanKernelsTest, SelectIsWithinItsErrorBound) {
  using Real = TypeParam;
  std::mt19937 generator(1);
  std::set<Index> lengths = Lengths();
  lengths.insert(300);
  for (const Index count : lengths) {
    for (const Row& row : MakeRows(generator, count)) {
      for (const bool has_complement : {false, true}) {
        SCOPED_TRACE("length " + std::to_string(count) + ", " + row.name +
                     (has_complement ? ", complement" : ""));
        ExpectSelect(Arrays<Real>(row), has_complement);
      }
    }
  }
}

TYPED_TEST(ScanKernelsTest, WhatStartsAnywhereGoesOnFromThere) {
  using Real = TypeParam;
  constexpr Index kCount = 75;
  std::mt19937 generator(2);
  Row row = MakeRow("", generator, kCount, 0.2, 0.01);
  for (Index k = 0; k < kCount; ++k) {
    SCOPED_TRACE("start " + std::to_string(k));
    row.start.assign(kCount, 0);
    row.start[Size(k)] = 1;
    const Arrays<Real> in(row);
    ExpectSelect(in, true);
    for (const std::string& level : SimdLevels()) {
      auto alpha = Output<Real>(kCount);
      Select(KernelsAt<Real>(level), in.p.data(), nullptr, in.start.data(),
             kCount, alpha.data(), nullptr);
      for (Index j = 0; j < k; ++j) ASSERT_EQ(alpha[j], 0) << j;
      ASSERT_EQ(alpha[k], in.p[k]);
    }
  }
}

// 1 - p is 1e-12, which in f32 is nothing beside p: the mass that passes entry
// k must be right relative to itself, forwards and backwards. All of it is
// chosen at the last entry.
TYPED_TEST(ScanKernelsTest, WhatASaturatedEntryLetsPassKeepsItsDigits) {
  using Real = TypeParam;
  constexpr Index kCount = 75;
  for (const std::string& level : SimdLevels()) {
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    for (Index k = 0; k + 1 < kCount; ++k) {
      SCOPED_TRACE(level + " entry " + std::to_string(k));
      Row row = {.name = "",
                 .p = std::vector<double>(kCount, 0),
                 .complement = std::vector<double>(kCount, kNaN<double>),
                 .start = std::vector<double>(kCount, 0)};
      row.start[0] = 1;
      row.p[Size(k)] = 1;
      row.complement[Size(k)] = 1e-12;
      row.p.back() = 1;
      row.complement.back() = 0;
      const Arrays<Real> in(row);
      auto alpha = Output<Real>(kCount), arrived = alpha;
      Select(kernels, in.p.data(), in.complement.data(), in.start.data(),
             kCount, alpha.data(), arrived.data());
      EXPECT_EQ(alpha[k], 1);
      EXPECT_EQ(alpha[kCount - 1], static_cast<Real>(1e-12));
      auto d_alpha = Input<Real>(std::vector<double>(kCount, 0));
      d_alpha[kCount - 1] = 1;
      auto d_p = Output<Real>(kCount);
      Carried<Real> d_start(kCount);
      GoBack(kernels, in.p.data(), in.complement.data(), arrived.data(),
             d_alpha.data(), kCount, d_p.data(), d_start.data());
      EXPECT_EQ(d_start[0], Carry<Real>{in.complement[k]});
      EXPECT_EQ(d_p[k], -1);
    }
  }
}

// Rows start where the ones above them were chosen: late, early, or nowhere.
TYPED_TEST(ScanKernelsTest, RowsTogetherAreThoseOfOneAfterAnother) {
  using Real = TypeParam;
  std::mt19937 generator(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::set<Index> lengths = Lengths();
  lengths.insert(300);
  for (const std::string& level : SimdLevels()) {
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    for (const Index count : lengths) {
      for (const double scale : {0.02, 0.5, 1.0}) {
        for (const Index first : {Index{0}, count / 2}) {
          constexpr Index kRows = 9;
          PaddedRows<Real> p(generator, kRows, count, 0),
              alpha(generator, kRows, count, 0);
          std::vector<double> complements, starts(Size(count), 0);
          for (Index i = 0; i < kRows; ++i) {
            for (Index j = 0; j < count; ++j) {
              const double drawn = scale * uniform(generator);
              p.Row(i)[j] = static_cast<Real>(j == 7 ? 1 : drawn);
              complements.push_back(1 - static_cast<double>(p.Row(i)[j]));
            }
          }
          if (count > 0) starts[Size(first)] = 1;
          const auto start = Input<Real>(starts);
          const auto complement = Input<Real>(complements);
          for (const bool has_complement : {false, true}) {
            SCOPED_TRACE(level + " length " + std::to_string(count) +
                         ", p up to " + std::to_string(scale) + " from " +
                         std::to_string(first));
            const Real* const passed =
                has_complement ? complement.data() : nullptr;
            auto arrived = Output<Real>(kRows * count);
            auto carried = Output<Carry<Real>>(count);
            std::copy_n(start.data(), count, carried.data());
            kernels.select_rows(p.Row(0), p.stride, passed, carried.data(),
                                kRows, count, alpha.Row(0), alpha.stride,
                                arrived.data(), count);
            EXPECT_TRUE(arrived.GuardsIntact() && alpha.values.GuardsIntact() &&
                        carried.GuardsIntact());
            Carried<Real> from = CarriedFrom(start.data(), count);
            std::vector<Wide> exact_from = Widened(start);
            for (Index i = 0; i < kRows; ++i) {
              std::vector<Wide> exact(Size(count)), exact_arrived = exact;
              const std::vector<Wide> wide_p(p.Row(i), p.Row(i) + count);
              ScalarKernels<Wide>().select_rows(
                  wide_p.data(), count, nullptr, exact_from.data(), 1, count,
                  exact.data(), count, exact_arrived.data(), count);
              auto row = Output<Real>(count), of_row = row;
              std::copy_n(alpha.Row(i), count, row.data());
              std::copy_n(arrived.data() + i * count, count, of_row.data());
              const Wide error =
                  attnbench::SelectError(i + 1, count) * kDoubleUnit +
                  kUnit<Real>;
              // Rows lose what rounds to 0.
              const Wide floor = static_cast<Wide>((i + 1) * (count + 1)) *
                                 std::numeric_limits<Real>::denorm_min();
              ExpectRelative(row, exact, error, floor);
              ExpectRelative(of_row, exact_arrived, error, floor);
              // The same bits alone.
              auto alone = Output<Real>(count);
              kernels.select_rows(
                  p.Row(i), p.stride,
                  passed == nullptr ? nullptr : passed + i * count, from.data(),
                  1, count, alone.data(), count, nullptr, 0);
              EXPECT_TRUE(SameBits(alone.data(), row.data(), count));
            }
            EXPECT_TRUE(SameBits(carried.data(), from.data(), count));
          }
        }
      }
    }
  }
}

// Arrays of up to 20 rows, with NaN between those that have a stride.
template <class Real>
struct RowsBack {
  RowsBack(std::mt19937& generator, Index rows, Index count)
      : p(generator, rows, count, 0.5),
        arrived(generator, rows, count, 1),
        d_alpha(generator, rows, count, 1),
        complement(rows * count, kNaN<Real>),
        d_more(rows * count, kNaN<Carry<Real>>),
        d_start(count, kNaN<Carry<Real>>) {
    std::uniform_real_distribution<double> uniform(0, 1);
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < count; ++j) {
        // Few p exceed a half, so that there are blocks with none.
        Real& choice = p.Row(i)[j];
        choice = std::abs(choice) + (uniform(generator) < 0.02 ? Real(0.5) : 0);
        if (choice > Real(0.5)) complement[i * count + j] = 1 - choice;
      }
    }
    Fill(generator, d_more.size(), 1, d_more.data());
    Fill(generator, count, 1, d_start.data());
  }

  // Takes `rows` of them from `first` on.
  void Run(const Kernels<Real>& kernels, bool more, Index first, Index rows,
           PaddedRows<Real>& d_p, GuardedArray<Carry<Real>>& state) {
    const Index count = state.size(), at = first * count;
    kernels.select_rows_backward(
        p.Row(first), p.stride, complement.data() + at, arrived.Row(first),
        arrived.stride, more ? d_alpha.Row(first) : nullptr, d_alpha.stride,
        more ? d_more.data() + at : nullptr, rows, count, d_p.Row(first),
        d_p.stride, state.data());
  }
  PaddedRows<Real> p, arrived, d_alpha;
  GuardedArray<Real> complement;
  GuardedArray<Carry<Real>> d_more, d_start;
};

TYPED_TEST(ScanKernelsTest, RowsTogetherGoBackAsOneAfterAnother) {
  using Real = TypeParam;
  std::mt19937 generator(8);
  std::set<Index> lengths = {1, 2, 3, 300, 1027};
  for (Index count = 28; count <= 70; ++count) lengths.insert(count);
  for (const std::string& level : SimdLevels()) {
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    for (const Index count : lengths) {
      for (const Index rows : {1, 2, 7, 8, 9, 16, 20}) {
        if (count > 70 && rows < 20) continue;
        RowsBack<Real> in(generator, rows, count);
        for (const bool more : {false, true}) {
          SCOPED_TRACE(level + " length " + std::to_string(count) + ", " +
                       std::to_string(rows) + " rows" + (more ? ", more" : ""));
          PaddedRows<Real> together(generator, rows, count, 0),
              alone = together;
          auto state = in.d_start, state_alone = state;
          in.Run(kernels, more, 0, rows, together, state);
          for (Index i = rows; i-- > 0;) {
            in.Run(kernels, more, i, 1, alone, state_alone);
          }
          ASSERT_TRUE(SameBits(together.values.data(), alone.values.data(),
                               together.values.size()));
          ASSERT_TRUE(SameBits(state.data(), state_alone.data(), count));
          ASSERT_TRUE(together.values.GuardsIntact() && state.GuardsIntact());
        }
      }
    }
  }
}

// Forwards every number of rows at every length around the blocks.
TYPED_TEST(ScanKernelsTest, AnyNumberOfRowsIsMadeAsOneAfterAnother) {
  using Real = TypeParam;
  std::mt19937 generator(9);
  for (const std::string& level : SimdLevels()) {
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    for (Index count = 1; count <= 70; count += count < 28 ? 9 : 1) {
      for (Index rows = 1; rows <= 20; ++rows) {
        SCOPED_TRACE(level + " length " + std::to_string(count) + ", " +
                     std::to_string(rows) + " rows");
        RowsBack<Real> in(generator, rows, count);
        PaddedRows<Real> alpha(generator, rows, count, 0), q = alpha;
        auto alone = alpha, q_alone = alpha;
        GuardedArray<Carry<Real>> start(count, kNaN<Carry<Real>>);
        std::fill_n(start.data(), count, 0);
        start[count / 3] = 1;
        auto start_alone = start;
        kernels.select_rows(in.p.Row(0), in.p.stride, in.complement.data(),
                            start.data(), rows, count, alpha.Row(0),
                            alpha.stride, q.Row(0), q.stride);
        for (Index i = 0; i < rows; ++i) {
          kernels.select_rows(in.p.Row(i), in.p.stride,
                              in.complement.data() + i * count,
                              start_alone.data(), 1, count, alone.Row(i),
                              alone.stride, q_alone.Row(i), q_alone.stride);
        }
        const Index size = alpha.values.size();
        ASSERT_TRUE(SameBits(alpha.values.data(), alone.values.data(), size));
        ASSERT_TRUE(SameBits(q.values.data(), q_alone.values.data(), size));
        ASSERT_TRUE(SameBits(start.data(), start_alone.data(), count));
        ASSERT_TRUE(start.GuardsIntact() && alpha.values.GuardsIntact());
      }
    }
  }
}

// Sharp choices, as trained models make: mass is in few entries, at the ends of
// which rows begin and end, and denormal numbers lie between.
TYPED_TEST(ScanKernelsTest, RowsWhoseMassIsNarrowAreMadeAsOneAfterAnother) {
  using Real = TypeParam;
  constexpr Index kRows = 50, kCount = 301;
  std::mt19937 generator(10);
  std::uniform_real_distribution<double> uniform(0, 1);
  const std::vector<Real> none(Size(kCount), 0);
  for (const double sharpness : {8.0, 3.0, 0.5}) {
    std::vector<Real> p;
    for (Index n = 0; n < kRows * kCount; ++n) {
      const double energy = sharpness * (12 * uniform(generator) - 9);
      p.push_back(static_cast<Real>(1 / (1 + std::exp(-energy))));
    }
    for (const std::string& level : SimdLevels()) {
      SCOPED_TRACE(level + " sharpness " + std::to_string(sharpness));
      const Kernels<Real>& kernels = KernelsAt<Real>(level);
      std::vector<Real> alpha(p.size(), 7), q = alpha, row = alpha, q_row = row;
      Carried<Real> start(kCount), start_alone(kCount);
      for (const std::size_t j : {40U, 280U}) start[j] = start_alone[j] = 1;
      kernels.select_rows(p.data(), kCount, nullptr, start.data(), kRows,
                          kCount, alpha.data(), kCount, q.data(), kCount);
      for (Index i = 0; i < kRows; ++i) {
        const Index at = i * kCount;
        kernels.select_rows(p.data() + at, kCount, nullptr, start_alone.data(),
                            1, kCount, row.data() + at, kCount,
                            q_row.data() + at, kCount);
      }
      const Index size = std::ssize(p);
      EXPECT_TRUE(SameBits(alpha.data(), row.data(), size));
      EXPECT_TRUE(SameBits(q.data(), q_row.data(), size));
      EXPECT_TRUE(SameBits(start.data(), start_alone.data(), kCount));
    }
  }
}

// What a caller computes afterwards must not depend on a kernel: denormal
// numbers count for nothing within it alone, and what is lost is less than the
// least normal number.
TYPED_TEST(ScanKernelsTest,
           GoingBackTakesDenormalNumbersForNothingAndRestoresTheMode) {
  using Real = TypeParam;
  constexpr Index kRows = 12, kCount = 67;
  constexpr Real kNormal = std::numeric_limits<Real>::min();
  std::mt19937 generator(11);
  RowsBack<Real> in(generator, kRows, kCount);
  for (Index i = 0; i < kRows; ++i) {
    for (Index j = 0; j < kCount; ++j) in.arrived.Row(i)[j] *= kNormal;
  }
  for (const std::string& level : SimdLevels()) {
    SCOPED_TRACE(level);
    PaddedRows<Real> d_p(generator, kRows, kCount, 0), exact = d_p;
    auto state = in.d_start, exact_state = state;
    in.Run(KernelsAt<Real>(level), true, 0, kRows, d_p, state);
    EXPECT_EQ(FlushDenormals::Mode(), 0);
    in.Run(ScalarKernels<Real>(), true, 0, kRows, exact, exact_state);
    for (Index j = 0; j < kCount; ++j) {
      ASSERT_NEAR(static_cast<double>(state[j]),
                  static_cast<double>(exact_state[j]),
                  1e-12 * (1 + std::abs(static_cast<double>(exact_state[j]))));
    }
    for (Index i = 0; i < kRows; ++i) {
      for (Index j = 0; j < kCount; ++j) {
        const Real found = d_p.Row(i)[j];
        if (FlushDenormals::kMode != 0) {
          ASSERT_TRUE(found == 0 || std::abs(found) >= kNormal);
        }
        // q lacks up to the least normal number, of at most 40 units of g.
        ASSERT_LE(std::abs(found - exact.Row(i)[j]), 40 * kNormal);
      }
    }
  }
}

// If every entry's rounding took a share, the error would be 1e-3 in f32.
TYPED_TEST(ScanKernelsTest, ALongMemoryKeepsItsDigits) {
  using Real = TypeParam;
  constexpr Index kCount = 20000;
  for (const double p : {1e-3, 1e-4}) {
    Row row = {.name = "",
               .p = std::vector<double>(kCount, p),
               .complement = std::vector<double>(kCount, kNaN<double>),
               .start = std::vector<double>(kCount, 0)};
    row.start[0] = 1;
    const Arrays<Real> in(row);
    std::vector<Wide> exact(kCount);
    Select(ScalarKernels<Wide>(), in.wide_p.data(), nullptr,
           in.wide_start.data(), kCount, exact.data(), nullptr);
    for (const std::string& level : SimdLevels()) {
      for (const bool has_complement : {false, true}) {
        SCOPED_TRACE(level + " p " + std::to_string(p));
        auto alpha = Output<Real>(kCount);
        Select(KernelsAt<Real>(level), in.p.data(),
               in.Complement(has_complement), in.start.data(), kCount,
               alpha.data(), nullptr);
        ExpectRelative(alpha, exact,
                       sizeof(Real) == sizeof(float) ? 2e-7 : 1e-11);
      }
    }
  }
}

// Rows of U outputs as training takes them, forwards and backwards: with f32
// from row to row, after 2,000 rows alpha would err by 20 units and the
// gradient by 400 of the size of its terms. The arrays of the rows and the
// oracle's.
template <class Real>
struct ManyRows {
  static constexpr Index kRows = 2000, kCount = 400;

  explicit ManyRows(double bias) {
    std::mt19937 generator(6);
    std::normal_distribution<double> normal;
    for (Index n = 0; n < kRows * kCount; ++n) {
      p.push_back(
          static_cast<Real>(1 / (1 + std::exp(-normal(generator) - bias))));
      d_alpha.push_back(static_cast<Real>(normal(generator)));
    }
  }
  std::vector<Real> p, d_alpha;
};

// What a table of kernels makes of them, all at once or, backwards, one by one:
// row i of d_start is then its state after that row.
template <class Number>
struct ManyRowsMade {
  ManyRowsMade(const Kernels<Number>& kernels, const std::vector<Number>& p,
               const std::vector<Number>& d_alpha, Index rows, Index count,
               bool one_by_one)
      : alpha(p.size()), arrived(p.size()), d_p(p.size()), d_start(p.size()) {
    Carried<Number> start(Size(count)), d_next = start;
    start[0] = 1;
    kernels.select_rows(p.data(), count, nullptr, start.data(), rows, count,
                        alpha.data(), count, arrived.data(), count);
    const Index together = one_by_one ? 1 : rows;
    for (Index i = rows; i > 0; i -= together) {
      const Index at = (i - together) * count;
      kernels.select_rows_backward(
          p.data() + at, count, nullptr, arrived.data() + at, count,
          d_alpha.data() + at, count, nullptr, together, count, d_p.data() + at,
          count, d_next.data());
      std::ranges::copy(d_next, d_start.begin() + at);
    }
  }
  std::vector<Number> alpha, arrived, d_p;
  Carried<Number> d_start;
};

template <class Real>
void ExpectManyRows(const Kernels<Real>& kernels, const ManyRows<Real>& in,
                    const ManyRowsMade<Wide>& exact,
                    const ManyRowsMade<Wide>& magnitudes) {
  constexpr Index kRows = ManyRows<Real>::kRows;
  constexpr Index kCount = ManyRows<Real>::kCount;
  const ManyRowsMade<Real> made(kernels, in.p, in.d_alpha, kRows, kCount,
                                false);
  const Wide of_row = attnbench::SelectError(kRows, kCount) * kDoubleUnit;
  const Wide of_gradient = SelectGradientError(kRows, kCount) * kDoubleUnit;
  constexpr bool kSingle = sizeof(Real) == sizeof(float);
  const Wide rounding = kSingle ? kUnit<Real> : 0;
  // Less mass than rounds to 0 goes no further.
  const Wide floor = 1e6L * std::numeric_limits<Real>::denorm_min();
  const auto M = [&](Index n) { return magnitudes.d_start[Size(n)]; };
  for (Index n = 0; n < kRows * kCount; ++n) {
    const auto at = Size(n);
    const bool is_last_entry = n % kCount == kCount - 1;
    const bool is_last_row = n >= (kRows - 1) * kCount;
    const Wide G = std::abs(static_cast<Wide>(in.d_alpha[at])) +
                   (is_last_row ? 0 : M(n + kCount));
    const Wide terms = exact.arrived[at] * (G + (is_last_entry ? 0 : M(n + 1)));
    if (!(std::abs(made.alpha[at] - exact.alpha[at]) <=
          (of_row + rounding) * exact.alpha[at] + floor)) {
      FAIL() << "alpha " << n << ": " << made.alpha[at] << " instead of "
             << exact.alpha[at];
    }
    if (n < kCount &&
        !(std::abs(made.d_start[at] - exact.d_start[at]) <= of_row * M(n))) {
      FAIL() << "d_start " << n << ": " << made.d_start[at] << " instead of "
             << exact.d_start[at];
    }
    // Going back takes denormal numbers for nothing.
    const Wide flushed = std::numeric_limits<Real>::min() *
                         (1 + G + (is_last_entry ? 0 : M(n + 1)));
    if (!(std::abs(made.d_p[at] - exact.d_p[at]) <=
          2 * rounding * std::abs(exact.d_p[at]) + of_gradient * terms +
              floor * G + flushed)) {
      FAIL() << "d_p " << n << ": " << made.d_p[at] << " instead of "
             << exact.d_p[at];
    }
  }
}

TYPED_TEST(ScanKernelsTest, TheErrorOfManyRowsStaysThatOfOne) {
  using Real = TypeParam;
  const ManyRows<Real> in(3);  // so that mass is left for the last row
  const std::vector<Wide> p(in.p.begin(), in.p.end());
  std::vector<Wide> d_alpha(in.d_alpha.begin(), in.d_alpha.end());
  const auto exact = [&] {
    return ManyRowsMade<Wide>(ScalarKernels<Wide>(), p, d_alpha, in.kRows,
                              in.kCount, true);
  };
  const ManyRowsMade<Wide> wide = exact();
  for (Wide& d : d_alpha) d = std::abs(d);
  const ManyRowsMade<Wide> magnitudes = exact();
  for (const std::string& level : SimdLevels()) {
    SCOPED_TRACE(level);
    ExpectManyRows(KernelsAt<Real>(level), in, wide, magnitudes);
  }
  SCOPED_TRACE("plain loops");
  ExpectManyRows(ScalarKernels<Real>(), in, wide, magnitudes);
}

// dq is a mean of the elements behind it, so its error is relative to the
// largest d_alpha. If all are positive it is relative to dq itself.
TYPED_TEST(ScanKernelsTest, SelectBackwardIsWithinTheErrorOfSelect) {
  using Real = TypeParam;
  std::mt19937 generator(3);
  std::set<Index> lengths = Lengths();
  lengths.insert(300);
  for (const std::string& level : SimdLevels()) {
    for (const Index count : lengths) {
      for (const Row& row : MakeRows(generator, count)) {
        const Arrays<Real> in(row);
        GuardedArray<Real> arrived(count, kNaN<Real>), d_alpha = arrived;
        GuardedArray<Carry<Real>> d_next(count, kNaN<Carry<Real>>);
        Fill(generator, count, 1, arrived.data());
        for (const bool positive : {false, true}) {
          Fill(generator, count, 0.5, d_alpha.data());
          Fill(generator, count, 0.5, d_next.data());
          for (Index j = 0; j < count && positive; ++j) {
            d_alpha[j] = std::abs(d_alpha[j]);
            d_next[j] = std::abs(d_next[j]);
          }
          for (const bool has_complement : {false, true}) {
            SCOPED_TRACE(level + " length " + std::to_string(count) + ", " +
                         row.name + (has_complement ? ", complement" : ""));
            std::vector<Wide> exact_d_p(Size(count));
            std::vector<Wide> exact_d_start = Widened(d_next);
            GoBack(ScalarKernels<Wide>(), in.wide_p.data(),
                   in.WideComplement(has_complement), Widened(arrived).data(),
                   Widened(d_alpha).data(), count, exact_d_p.data(),
                   exact_d_start.data());
            auto d_p = Output<Real>(count);
            auto d_start = d_next;
            GoBack(KernelsAt<Real>(level), in.p.data(),
                   in.Complement(has_complement), arrived.data(),
                   d_alpha.data(), count, d_p.data(), d_start.data());
            // d_alpha and d_next are at most a half each.
            const Wide error = attnbench::SelectError(1, count) * kDoubleUnit;
            if (positive) ExpectRelative(d_start, exact_d_start, error);
            ExpectWithin(d_start, exact_d_start, error);
            ExpectWithin(d_p, exact_d_p,
                         2 * (error + 2 * kDoubleUnit + kUnit<Real>));
            // Without a d_alpha of its own the row is worth what it hands on.
            auto alone = Output<Real>(count);
            auto added = d_next;
            for (Index j = 0; j < count; ++j) added[j] += d_alpha[j];
            GoBack(KernelsAt<Real>(level), in.p.data(),
                   in.Complement(has_complement), arrived.data(), nullptr,
                   count, alone.data(), added.data());
            EXPECT_TRUE(SameBits(alone.data(), d_p.data(), count));
            EXPECT_TRUE(SameBits(added.data(), d_start.data(), count));
          }
        }
      }
    }
  }
}

TEST(ScanKernelsGradientTest, SelectBackwardIsTheDerivativeOfSelect) {
  constexpr Index kCount = 45;
  std::mt19937 generator(4);
  std::uniform_real_distribution<double> uniform(0.1, 0.9);
  std::vector<double> p(kCount), start = p, d_alpha = p, arrived = p, alpha = p,
                                 d_p = p, d_start = p;
  for (auto* array : {&p, &start, &d_alpha}) {
    for (double& value : *array) value = uniform(generator);
  }
  for (const std::string& level : SimdLevels()) {
    SCOPED_TRACE(level);
    const Kernels<double>& kernels = KernelsAt<double>(level);
    const auto loss = [&] {
      Select(kernels, p.data(), nullptr, start.data(), kCount, alpha.data(),
             arrived.data());
      double sum = 0;
      for (std::size_t j = 0; j < alpha.size(); ++j) {
        sum += d_alpha[j] * alpha[j];
      }
      return sum;
    };
    loss();
    std::ranges::fill(d_start, 0);
    GoBack(kernels, p.data(), nullptr, arrived.data(), d_alpha.data(), kCount,
           d_p.data(), d_start.data());
    ExpectDerivatives({"p", p, d_p}, loss);
    ExpectDerivatives({"start", start, d_start}, loss);
  }
}

}  // namespace
}  // namespace attnbench::testing
