// Guards against a kernel that is right at one SIMD level or length only: a
// dropped tail, a read or write past the end, an order of summation that
// depends on how rows are grouped into calls, an exp or tanh worse than its
// documented error.
#include "mechanisms/kernels/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>

#include "mechanisms/common/array.h"

namespace attnbench {
namespace {

using Wide = long double;

// Half the machine epsilon.
template <class Real>
constexpr Wide kUnit = std::numeric_limits<Real>::epsilon() / 2;

// Lengths around every lane count that there is.
std::set<Index> Lengths() {
  std::set<Index> lengths = {0, 1};
  for (const Index N : {2, 4, 8, 16}) {
    lengths.insert({N - 1, N, N + 1, 3 * N, 8 * N + 2});
  }
  return lengths;
}

template <class Real>
double LanesAt(const std::string& level) {
  const std::size_t bytes = level.starts_with("AVX3")   ? 64
                            : level.starts_with("AVX2") ? 32
                            : level == "SCALAR"         ? sizeof(Real)
                                                        : 16;
  const std::size_t lanes = bytes / sizeof(Real);
  return static_cast<double>(lanes);
}

// An array that starts one element off a cache line, with a guard on either
// side: NaN around inputs turns a read past the end into a NaN, and a number
// around outputs shows a write past it.
template <class Real>
class GuardedArray {
 public:
  GuardedArray(Index size, Real guard)
      : guard_(guard), size_(size), all_(Size(size + 2 * kGuard), guard) {}
  Real* data() { return all_.data() + kGuard; }
  const Real* data() const { return all_.data() + kGuard; }
  Real& operator[](Index n) { return data()[n]; }
  Real operator[](Index n) const { return data()[n]; }
  Index size() const { return size_; }
  bool GuardsIntact() const {
    for (Index n = 0; n < kGuard; ++n) {
      if (Differs(all_[Size(n)]) || Differs(data()[size_ + n])) return false;
    }
    return true;
  }

 private:
  static constexpr Index kGuard = 17;  // a cache line of f32, and one more
  // By bits: the guard may be NaN.
  bool Differs(Real value) const {
    using Bits =
        std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
    return std::bit_cast<Bits>(value) != std::bit_cast<Bits>(guard_);
  }
  Real guard_;
  Index size_;
  Buffer<Real> all_;
};

template <class Real>
constexpr Real kNaN = std::numeric_limits<Real>::quiet_NaN();
constexpr int kOutputGuard = 12345;

template <class Real>
void Fill(std::mt19937& generator, Index count, double range, Real* values) {
  std::uniform_real_distribution<double> uniform(-range, range);
  for (Index n = 0; n < count; ++n) {
    values[n] = static_cast<Real>(uniform(generator));
  }
}

// Rows whose stride exceeds their length, with NaN between them.
template <class Real>
struct PaddedRows {
  PaddedRows(std::mt19937& generator, Index count, Index dim, double range)
      : stride(dim + 3), values(count * stride, kNaN<Real>) {
    for (Index j = 0; j < count; ++j) Fill(generator, dim, range, Row(j));
  }
  Real* Row(Index j) { return values.data() + j * stride; }
  Index stride;
  GuardedArray<Real> values;
};

template <class Real>
bool SameBits(const Real* a, const Real* b, Index count) {
  // memcmp wants pointers even to nothing.
  return count == 0 || std::memcmp(a, b, Size(count) * sizeof(Real)) == 0;
}

template <class Real>
class KernelsTest : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(KernelsTest, Precisions);

TYPED_TEST(KernelsTest, EveryLevelHasItsOwnTableAndTheBestIsTheFirst) {
  using Real = TypeParam;
  std::set<const Kernels<Real>*> tables;
  for (const std::string& level : SimdLevels()) {
    tables.insert(&KernelsAt<Real>(level));
  }
  EXPECT_GE(SimdLevels().size(), 1u);
  EXPECT_EQ(tables.size(), SimdLevels().size());
  EXPECT_EQ(&BestKernels<Real>(), &KernelsAt<Real>(SimdLevels().front()));
  EXPECT_EQ(SimdName(), SimdLevels().front());
}

TYPED_TEST(KernelsTest, DotRowsIsWithinItsErrorBound) {
  using Real = TypeParam;
  std::mt19937 generator(1);
  for (const std::string& level : SimdLevels()) {
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    const double N = LanesAt<Real>(level);
    for (const Index dim : Lengths()) {
      for (const Index count : {0, 1, 2, 3, 8}) {
        SCOPED_TRACE(level + " dim " + std::to_string(dim) + " count " +
                     std::to_string(count));
        PaddedRows<Real> rows(generator, count, dim, 1);
        GuardedArray<Real> query(dim, kNaN<Real>);
        Fill(generator, dim, 1, query.data());
        GuardedArray<Real> energies(count, kOutputGuard);
        kernels.dot_rows(query.data(), rows.Row(0), rows.stride, count, dim,
                         energies.data());
        EXPECT_TRUE(energies.GuardsIntact());
        const Wide roundings =
            static_cast<Wide>(dim) / (4 * N) + std::log2(4 * N) + 3;
        for (Index j = 0; j < count; ++j) {
          Wide exact = 0, magnitude = 0;
          for (Index k = 0; k < dim; ++k) {
            const Wide term = static_cast<Wide>(query[k]) * rows.Row(j)[k];
            exact += term;
            magnitude += std::abs(term);
          }
          const Wide error = std::abs(energies[j] - exact);
          if (!(error <= roundings * kUnit<Real> * magnitude)) {
            FAIL() << "row " << j << " error " << error;
          }
        }
      }
    }
  }
}

// A one and, wherever the sum of its lane is rounded again, half a unit in its
// last place, which each time is rounded away. 7 N + 1 elements make the
// longest chain: a full block of 4 N, three more vectors and a tail.
TYPED_TEST(KernelsTest, DotRowsIsWithinItsBoundWhereEveryRoundingIsDownwards) {
  using Real = TypeParam;
  for (const std::string& level : SimdLevels()) {
    SCOPED_TRACE(level);
    const double lanes = LanesAt<Real>(level);
    const auto N = static_cast<Index>(lanes);
    const Index dim = 7 * N + 1;
    std::vector<Real> query(Size(dim), 0), row(Size(dim), 0);
    const auto put = [&](Index k) {
      query[Size(k)] = 1;
      row[Size(k)] = static_cast<Real>(kUnit<Real>);
    };
    put(N);                                    // the second partial sum
    put(2 * N);                                // the third
    for (Index k = 4; k < 7; ++k) put(k * N);  // the first, three times more
    for (Index k = 1; k < N; k *= 2) put(k);   // across lanes
    query[0] = row[0] = 1;
    Wide exact = 0;
    for (Index k = 0; k < dim; ++k) {
      exact += static_cast<Wide>(query[Size(k)]) * row[Size(k)];
    }
    Real energy = 0;
    KernelsAt<Real>(level).dot_rows(query.data(), row.data(), dim, 1, dim,
                                    &energy);
    const Wide error = std::abs(energy - exact) / kUnit<Real>;
    const double bound =
        static_cast<double>(dim) / (4 * lanes) + std::log2(4 * lanes) + 3;
    if (!(error <= bound)) FAIL() << error << " units, bound " << bound;
  }
}

TYPED_TEST(KernelsTest, AdditiveRowsIsWithinItsErrorBound) {
  using Real = TypeParam;
  std::mt19937 generator(2);
  for (const std::string& level : SimdLevels()) {
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    const double N = LanesAt<Real>(level);
    for (const Index dim : Lengths()) {
      SCOPED_TRACE(level + " dim " + std::to_string(dim));
      constexpr Index kCount = 3;
      PaddedRows<Real> keys(generator, kCount, dim, 3);
      GuardedArray<Real> query(dim, kNaN<Real>), v(dim, kNaN<Real>);
      Fill(generator, dim, 3, query.data());
      Fill(generator, dim, 1, v.data());
      GuardedArray<Real> energies(kCount, kOutputGuard);
      kernels.additive_rows(query.data(), keys.Row(0), keys.stride, v.data(),
                            kCount, dim, energies.data());
      EXPECT_TRUE(energies.GuardsIntact());
      const Wide sum_roundings = static_cast<Wide>(dim) / N + std::log2(N) + 2;
      for (Index j = 0; j < kCount; ++j) {
        Wide exact = 0, tolerance = 0;
        for (Index k = 0; k < dim; ++k) {
          const Wide x = static_cast<Wide>(query[k]) + keys.Row(j)[k];
          const Wide term = v[k] * std::tanh(x);
          exact += term;
          // 5 ULP of the tanh, and the rounding of its argument.
          tolerance +=
              (sum_roundings + 10) * std::abs(term) + std::abs(v[k] * x);
        }
        const Wide error = std::abs(energies[j] - exact);
        if (!(error <= tolerance * kUnit<Real>)) {
          FAIL() << "row " << j << " error " << error;
        }
      }
    }
  }
}

// The distance in units in the last place of the exact value.
template <class Real>
Wide ErrorInUlp(Real value, Wide exact) {
  const Real rounded = static_cast<Real>(exact);
  const Real next =
      std::nextafter(rounded, std::numeric_limits<Real>::infinity());
  return std::abs(value - exact) / (static_cast<Wide>(next) - rounded);
}

TYPED_TEST(KernelsTest, TanhIsGoodToFiveUlpAndNeverLeavesMinusOneToOne) {
  using Real = TypeParam;
  for (const std::string& level : SimdLevels()) {
    SCOPED_TRACE(level);
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    const auto tanh_of = [&](Real x) {
      const Real zero = 0, one = 1;
      Real energy = kNaN<Real>;
      kernels.additive_rows(&zero, &x, 1, &one, 1, 1, &energy);
      return energy;
    };
    for (Real x = static_cast<Real>(1e-8); x < 40; x *= Real(1.003)) {
      for (const Real signed_x : {x, -x}) {
        const Real y = tanh_of(signed_x);
        const Wide ulp = ErrorInUlp(y, std::tanh(static_cast<Wide>(signed_x)));
        if (!(ulp <= 5)) FAIL() << "tanh " << signed_x << ": " << ulp << " ULP";
        if (!(std::abs(y) <= 1)) FAIL() << "tanh " << signed_x << " = " << y;
      }
    }
    EXPECT_EQ(tanh_of(0), 0);
    EXPECT_EQ(tanh_of(Real(1e4)), 1);
    EXPECT_EQ(tanh_of(Real(-1e4)), -1);
  }
}

TYPED_TEST(KernelsTest, AddRowsAddsEveryRowToEveryElement) {
  using Real = TypeParam;
  std::mt19937 generator(3);
  for (const std::string& level : SimdLevels()) {
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    for (const Index dim : Lengths()) {
      for (const Index count : {0, 1, 2, 5}) {
        SCOPED_TRACE(level + " dim " + std::to_string(dim) + " count " +
                     std::to_string(count));
        PaddedRows<Real> rows(generator, count, dim, 1);
        GuardedArray<Real> weights(count, kNaN<Real>);
        Fill(generator, count, 1, weights.data());
        GuardedArray<Real> context(dim, kOutputGuard);
        Fill(generator, dim, 1, context.data());
        const GuardedArray<Real> before = context;
        kernels.add_rows(weights.data(), rows.Row(0), rows.stride, count, dim,
                         context.data());
        EXPECT_TRUE(context.GuardsIntact());
        for (Index k = 0; k < dim; ++k) {
          Wide exact = before[k], magnitude = std::abs(before[k]);
          for (Index j = 0; j < count; ++j) {
            const Wide term = static_cast<Wide>(weights[j]) * rows.Row(j)[k];
            exact += term;
            magnitude += std::abs(term);
          }
          const Wide error = std::abs(context[k] - exact);
          // Two roundings a row where the level has no fused multiply-add.
          if (!(error <=
                static_cast<Wide>(2 * count) * kUnit<Real> * magnitude)) {
            FAIL() << "element " << k << " error " << error;
          }
        }
      }
    }
  }
}

TYPED_TEST(KernelsTest, RowsGiveTheSameBitsAloneAndTogether) {
  using Real = TypeParam;
  std::mt19937 generator(4);
  constexpr Index kCount = 7;
  for (const std::string& level : SimdLevels()) {
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    for (const Index dim : Lengths()) {
      SCOPED_TRACE(level + " dim " + std::to_string(dim));
      PaddedRows<Real> rows(generator, kCount, dim, 1);
      std::vector<Real> query(Size(dim)), v(Size(dim));
      Fill(generator, dim, 1, query.data());
      Fill(generator, dim, 1, v.data());
      std::vector<Real> dots(kCount), additive(kCount);
      kernels.dot_rows(query.data(), rows.Row(0), rows.stride, kCount, dim,
                       dots.data());
      kernels.additive_rows(query.data(), rows.Row(0), rows.stride, v.data(),
                            kCount, dim, additive.data());
      for (const Index piece : {1, 2, 3, 5}) {
        std::vector<Real> dots_in_pieces(kCount), additive_in_pieces(kCount);
        for (Index j = 0; j < kCount; j += piece) {
          const Index n = std::min(piece, kCount - j);
          kernels.dot_rows(query.data(), rows.Row(j), rows.stride, n, dim,
                           &dots_in_pieces[Size(j)]);
          kernels.additive_rows(query.data(), rows.Row(j), rows.stride,
                                v.data(), n, dim, &additive_in_pieces[Size(j)]);
        }
        EXPECT_TRUE(SameBits(dots.data(), dots_in_pieces.data(), kCount));
        EXPECT_TRUE(
            SameBits(additive.data(), additive_in_pieces.data(), kCount));
      }
    }
  }
}

TYPED_TEST(KernelsTest, AddRowsGivesTheSameBitsInAnyPieces) {
  using Real = TypeParam;
  std::mt19937 generator(5);
  constexpr Index kCount = 7;
  for (const std::string& level : SimdLevels()) {
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    for (const Index dim : Lengths()) {
      SCOPED_TRACE(level + " dim " + std::to_string(dim));
      PaddedRows<Real> rows(generator, kCount, dim, 1);
      std::vector<Real> weights(kCount), context(Size(dim));
      Fill(generator, kCount, 1, weights.data());
      Fill(generator, dim, 1, context.data());
      const std::vector<Real> before = context;
      kernels.add_rows(weights.data(), rows.Row(0), rows.stride, kCount, dim,
                       context.data());
      for (const Index piece : {1, 2, 3, 5}) {
        std::vector<Real> in_pieces = before;
        for (Index j = 0; j < kCount; j += piece) {
          kernels.add_rows(&weights[Size(j)], rows.Row(j), rows.stride,
                           std::min(piece, kCount - j), dim, in_pieces.data());
        }
        EXPECT_TRUE(SameBits(context.data(), in_pieces.data(), dim));
      }
    }
  }
}

TYPED_TEST(KernelsTest, ScaleRoundsEveryProductOnce) {
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

TYPED_TEST(KernelsTest, LargestFindsTheLargestWhereverItStands) {
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
      }
    }
  }
}

TYPED_TEST(KernelsTest, ExpSumIsWithinThreeUlpAndReturnsTheSumOfItsWeights) {
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
          } else if (!(ErrorInUlp(weights[k], exact) <= 3)) {
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

TYPED_TEST(KernelsTest, ExpSumGivesZeroForVeryNegativeEnergies) {
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

TYPED_TEST(KernelsTest, SigmoidIsAccurateOnBothSidesAndSaturates) {
  using Real = TypeParam;
  std::mt19937 generator(9);
  for (const std::string& level : SimdLevels()) {
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    for (const Index length : Lengths()) {
      for (const double range : {0.1, 20.0, 80.0}) {
        SCOPED_TRACE(level + " length " + std::to_string(length));
        GuardedArray<Real> x(length, kNaN<Real>);
        Fill(generator, length, range, x.data());
        GuardedArray<Real> y(length, kOutputGuard);
        kernels.sigmoid(x.data(), length, y.data(), nullptr);
        EXPECT_TRUE(y.GuardsIntact());
        for (Index k = 0; k < length; ++k) {
          const Wide ulp =
              ErrorInUlp(y[k], 1 / (1 + std::exp(-static_cast<Wide>(x[k]))));
          if (!(ulp <= 4))
            FAIL() << "sigmoid " << x[k] << ": " << ulp << " ULP";
        }
        kernels.sigmoid(x.data(), length, x.data(), nullptr);
        EXPECT_TRUE(SameBits(x.data(), y.data(), length));
      }
    }
    const Real largest = std::numeric_limits<Real>::max();
    std::vector<Real> x = {Real(1e4), Real(-1e4), 0, largest, -largest};
    kernels.sigmoid(x.data(), 5, x.data(), nullptr);
    EXPECT_EQ(x, (std::vector<Real>{1, 0, Real(0.5), 1, 0}));
  }
}

}  // namespace
}  // namespace attnbench
