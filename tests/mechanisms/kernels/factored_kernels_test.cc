// Guards against additive energies whose factored exponentials overflow, lose a
// tail or digits, wherever states and keys lie; and against gradients that do
// not belong to them.
#include <gtest/gtest.h>

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
class FactoredKernelsTest : public ::testing::Test {};
TYPED_TEST_SUITE(FactoredKernelsTest, Precisions);

// Where states and keys lie.
struct Family {
  const char* name;
  std::function<double(std::mt19937&)> query, key;
};

std::function<double(std::mt19937&)> Near(double centre, double range) {
  return [=](std::mt19937& generator) {
    return centre +
           std::uniform_real_distribution<double>(-range, range)(generator);
  };
}

// A number at either end.
std::function<double(std::mt19937&)> Ends(double end) {
  return [=](std::mt19937& generator) { return generator() % 2 ? end : -end; };
}

template <class Real>
std::vector<Family> Families() {
  const double most = kMostKey<Real>;
  return {{"small", Near(0, 0.01), Near(0, 0.01)},
          {"moderate", Near(0, 3), Near(0, 3)},
          {"cancelling", Near(most - 2, 1), Near(2 - most, 1)},
          {"far beyond", Ends(1000), Ends(most)},
          {"at the ends", Ends(kMostQuery<Real>), Ends(most)},
          {"one far", Near(0, 1), Ends(most)}};
}

template <class Real>
struct Drawn {
  Drawn(std::mt19937& generator, const Family& family, Index count, Index dim,
        bool positive)
      : keys(generator, count, dim, 0),
        exp_keys(generator, count, dim, 0),
        query(dim, kNaN<Real>),
        exp_query(dim, kNaN<Real>),
        v(dim, kNaN<Real>) {
    std::uniform_real_distribution<double> uniform(positive ? 0 : -1, 1);
    for (Index k = 0; k < dim; ++k) {
      query[k] = static_cast<Real>(family.query(generator));
      v[k] = static_cast<Real>(uniform(generator));
      for (Index j = 0; j < count; ++j) {
        keys.Row(j)[k] = static_cast<Real>(family.key(generator));
      }
    }
  }
  void Factor(const Kernels<Real>& kernels, Index count) {
    const Index dim = query.size();
    kernels.exp_twice(query.data(), kMostQuery<Real>, dim, exp_query.data());
    for (Index j = 0; j < count; ++j) {
      kernels.exp_twice(keys.Row(j), kMostKey<Real>, dim, exp_keys.Row(j));
    }
  }
  PaddedRows<Real> keys, exp_keys;
  GuardedArray<Real> query, exp_query, v;
};

TYPED_TEST(FactoredKernelsTest, EnergiesAreWithinTheirBoundWhereverKeysLie) {
  using Real = TypeParam;
  std::mt19937 generator(1);
  constexpr Index kCount = 3;
  for (const Family& family : Families<Real>()) {
    for (const Index dim : Lengths()) {
      for (const bool positive : {false, true}) {
        SCOPED_TRACE(std::string(family.name) + ", dim " + std::to_string(dim));
        const Drawn<Real> x(generator, family, kCount, dim, positive);
        std::vector<Real> keys;
        for (Index j = 0; j < kCount; ++j) {
          keys.insert(keys.end(), x.keys.Row(j), x.keys.Row(j) + dim);
        }
        ExpectWithinBounds<Real>("factored_additive_rows",
                                 {Numbers(x.query), keys, Numbers(x.v)});
      }
    }
  }
}

TYPED_TEST(FactoredKernelsTest, EnergiesHaveTheSameBitsAloneAndTogether) {
  using Real = TypeParam;
  std::mt19937 generator(2);
  constexpr Index kCount = 7;
  for (const std::string& level : SimdLevels()) {
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    for (const Index dim : Lengths()) {
      SCOPED_TRACE(level + " dim " + std::to_string(dim));
      Drawn<Real> x(generator, Families<Real>()[1], kCount, dim, false);
      x.Factor(kernels, kCount);
      const auto evaluate = [&](Index first, Index count, Real* energies) {
        kernels.factored_additive_rows(x.exp_query.data(),
                                       x.exp_keys.Row(first), x.exp_keys.stride,
                                       x.v.data(), count, dim, energies);
      };
      std::vector<Real> together(kCount), alone(kCount);
      evaluate(0, kCount, together.data());
      for (Index j = 0; j < kCount; ++j) evaluate(j, 1, &alone[Size(j)]);
      EXPECT_TRUE(SameBits(together.data(), alone.data(), kCount));
    }
  }
}

TYPED_TEST(FactoredKernelsTest, NotANumberStaysOne) {
  using Real = TypeParam;
  const Real x[] = {kNaN<Real>, 1}, v[] = {1, 1};
  for (const std::string& level : SimdLevels()) {
    SCOPED_TRACE(level);
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    Real e[2], energy = 0;
    kernels.exp_twice(x, kMostQuery<Real>, 2, e);
    EXPECT_TRUE(std::isnan(e[0]));
    kernels.factored_additive_rows(e, e + 1, 0, v, 1, 1, &energy);
    EXPECT_TRUE(std::isnan(energy));
    kernels.factored_additive_rows(e + 1, e, 0, v, 1, 1, &energy);
    EXPECT_TRUE(std::isnan(energy));
  }
}

TYPED_TEST(FactoredKernelsTest, GradientsAreThoseOfTheTanh) {
  using Real = TypeParam;
  std::mt19937 generator(3);
  for (const std::string& level : SimdLevels()) {
    const Kernels<Real>& kernels = KernelsAt<Real>(level);
    for (const Family& family : Families<Real>()) {
      for (const Index dim : Lengths()) {
        for (const Index count : {1, 8}) {
          SCOPED_TRACE(level + " " + family.name + ", dim " +
                       std::to_string(dim) + ", count " +
                       std::to_string(count));
          Drawn<Real> x(generator, family, count, dim, false);
          x.Factor(kernels, count);
          const auto weights = Input<Real>(
              std::vector<double>{1.7, -0.3, 0, 2, -1, 0.5, 0.1, -2});
          auto d_query = Output<Real>(dim), d_v = d_query;
          PaddedRows<Real> d_keys(generator, count, dim, 0);
          Fill(generator, dim, 1, d_query.data());
          Fill(generator, dim, 1, d_v.data());
          const auto query = Widened(x.query);
          std::vector<Wide> exact_query(Size(dim), 0), exact_v(Size(dim), 0);
          const auto query_before = Widened(d_query), v_before = Widened(d_v);
          kernels.factored_additive_backward(
              x.exp_query.data(), x.exp_keys.Row(0), x.exp_keys.stride,
              weights.data(), count, dim, d_query.data(), d_keys.Row(0),
              d_v.data());
          Wide sum = 0, all = 0;
          for (Index j = 0; j < count; ++j) {
            const std::vector<Wide> key(x.keys.Row(j), x.keys.Row(j) + dim);
            std::vector<Wide> exact_key(Size(dim), 0);
            ScalarKernels<Wide>().additive_backward(
                query.data(), key.data(), weights[j], dim, exact_query.data(),
                exact_key.data(), exact_v.data());
            sum += weights[j];
            all += std::abs(static_cast<Wide>(weights[j]));
            for (Index k = 0; k < dim; ++k) {
              EXPECT_NEAR(
                  static_cast<double>(4 * d_keys.Row(j)[k]),
                  static_cast<double>(exact_key[Size(k)]),
                  4 * FactoredBackwardError(0) *
                      static_cast<double>(kUnit<Real> * std::abs(weights[j])));
            }
          }
          // `held` is what a sum began with.
          const auto bound = [&](Wide held) {
            return static_cast<double>(FactoredBackwardError(count) *
                                       kUnit<Real> * (all + std::abs(held)));
          };
          for (Index k = 0; k < dim; ++k) {
            const std::size_t n = Size(k);
            EXPECT_NEAR(static_cast<double>(4 * (d_query[k] - query_before[n])),
                        static_cast<double>(exact_query[n]),
                        4 * bound(query_before[n]));
            EXPECT_NEAR(static_cast<double>(sum - 2 * (d_v[k] - v_before[n])),
                        static_cast<double>(exact_v[n]),
                        2 * bound(v_before[n]));
          }
          EXPECT_TRUE(d_query.GuardsIntact() && d_v.GuardsIntact() &&
                      d_keys.values.GuardsIntact());
        }
      }
    }
  }
}

}  // namespace
}  // namespace attnbench::testing
