// Guards against a kernel that is right at one SIMD level or length only: a
// dropped tail, a read or write past the end, an order of summation that
// depends on how rows are grouped into calls, a sum worse than its documented
// error; and against a CPU that has none of the levels: one without AES once
// ended in a segmentation fault.
#include "mechanisms/kernels/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "mechanisms/kernels/dispatch.h"
#include "mechanisms/kernels/error_bounds.h"
#include "tests/support/kernel_arrays.h"

namespace attnbench::testing {
namespace {

template <class Real>
class KernelsTest : public ::testing::Test {};
TYPED_TEST_SUITE(KernelsTest, Precisions);

TYPED_TEST(KernelsTest, EveryLevelHasItsOwnTableAndTheBestIsTheFirst) {
  using Real = TypeParam;
  std::set<const Kernels<Real>*> tables;
  for (const std::string& level : SimdLevels()) {
    tables.insert(&KernelsAt<Real>(level));
  }
  EXPECT_EQ(tables.size(), SimdLevels().size());
  EXPECT_EQ(&BestKernels<Real>(), &KernelsAt<Real>(SimdLevels().front()));
  EXPECT_EQ(SimdName(), SimdLevels().front());
}

// Sees what a CPU of these targets has, and at its end the real one's again.
class OnCpu {
 public:
  explicit OnCpu(std::int64_t targets) { RestrictTargets(targets); }
  ~OnCpu() { RestrictTargets(seen_); }
  OnCpu(const OnCpu&) = delete;
  OnCpu& operator=(const OnCpu&) = delete;

 private:
  const std::int64_t seen_ = hwy::SupportedTargets();
};

TYPED_TEST(KernelsTest, ACpuWithoutAnySimdHasThePlainLevel) {
  const OnCpu cpu(HWY_SCALAR | HWY_EMU128);
  ASSERT_THAT(SimdLevels(),
              ::testing::ElementsAre(::testing::AnyOf("SCALAR", "EMU128")));
  EXPECT_GE(KernelsAt<TypeParam>(SimdName()).lanes, 1);
}

TYPED_TEST(KernelsTest, AForcedLevelStaysWhereAnothersTableIsAskedFor) {
  const std::vector<std::string> levels = SimdLevels();
  const OnCpu cpu(TargetOf(levels.back()));
  KernelsAt<TypeParam>(levels.back());
  EXPECT_EQ(SimdName(), levels.back());
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
        const Wide roundings = DotError(dim, N);
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

// The elements are a one and, wherever the sum of its lane is rounded again,
// half a unit in its last place, which each time is rounded away. 7 N + 1
// elements make the longest chain: a full block of 4 N, three more vectors and
// a tail.
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
    const double bound = DotError(dim, lanes);
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
          // The error is that of the tanh, of which an ULP is up to 2 u, and
          // the rounding of its argument.
          tolerance += (sum_roundings + 2 * kTanhUlp) * std::abs(term) +
                       std::abs(v[k] * x);
        }
        const Wide error = std::abs(energies[j] - exact);
        if (!(error <= tolerance * kUnit<Real>)) {
          FAIL() << "row " << j << " error " << error;
        }
      }
    }
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
          // A row has two roundings if the level has no fused multiply-add.
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

// The 4 ULP of tanh(x) put weight (1 - tanh^2) off by the error of the square,
// however small it is.
TYPED_TEST(KernelsTest, AdditiveBackwardAddsTheGradientOfOneEnergy) {
  using Real = TypeParam;
  std::mt19937 generator(6);
  for (const std::string& level : SimdLevels()) {
    for (const Index dim : Lengths()) {
      SCOPED_TRACE(level + " dim " + std::to_string(dim));
      const Real weight = static_cast<Real>(-1.7);
      GuardedArray<Real> query(dim, kNaN<Real>), key = query;
      Fill(generator, dim, 3, query.data());
      Fill(generator, dim, 3, key.data());
      auto d_query = Output<Real>(dim), d_key = d_query, d_v = d_query;
      for (auto* output : {&d_query, &d_key, &d_v}) {
        Fill(generator, dim, 1, output->data());
      }
      const auto wide_query = Widened(query), wide_key = Widened(key);
      auto exact_query = Widened(d_query), exact_key = Widened(d_key),
           exact_v = Widened(d_v);
      ScalarKernels<Wide>().additive_backward(
          wide_query.data(), wide_key.data(), weight, dim, exact_query.data(),
          exact_key.data(), exact_v.data());
      KernelsAt<Real>(level).additive_backward(query.data(), key.data(), weight,
                                               dim, d_query.data(),
                                               d_key.data(), d_v.data());
      // An argument is a sum of two numbers up to 3. It is rounded, too, and
      // so errs by up to 6 u. 1 - x^2 errs by twice as much as x.
      const Wide size = std::abs(static_cast<Wide>(weight));
      const Wide of_tanh = size * (2 * kTanhUlp + 6) * kUnit<Real>;
      const Wide rounding =
          kAdditiveBackwardError * (size + (1 + size)) * kUnit<Real>;
      ExpectWithin(d_query, exact_query, 2 * of_tanh + rounding);
      ExpectWithin(d_key, exact_key, 2 * of_tanh + rounding);
      ExpectWithin(d_v, exact_v, of_tanh + rounding);
    }
  }
}

}  // namespace
}  // namespace attnbench::testing
