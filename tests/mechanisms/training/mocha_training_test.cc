// Guards against a window off by one, a cut in the wrong place, weights lost by
// clipping or by differences of sums, overflow, and a gradient that is not that
// of the expectation; and against published variants that are not as published.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "mechanisms/kernels/flush_denormals.h"
#include "mechanisms/mocha/published_window.h"
#include "mechanisms/mocha/window_expectation.h"
#include "tests/support/property.h"
#include "tests/support/training.h"

namespace attnbench {
namespace {

using testing::CheckProperty;
using testing::DrawIndex;
using testing::DrawOneOf;
using testing::RowView;

Config ConfigOf(Index w, const std::string& variant = "exact") {
  Config config;
  config.options["chunk_width"] = w;
  config.variant = variant;
  return config;
}

// The inputs of the step: w, alpha, u and d = dL/d beta.
template <class Real>
struct Case {
  Index w = 2;
  std::vector<Real> alpha, u, d;

  ChoiceRows<Real> Row() const {
    return {.start = {},
            .p = {},
            .complement = {},
            .selection = RowView(alpha),
            .chunk_energies = RowView(u)};
  }
  std::vector<Real> Beta() const {
    std::vector<Real> beta(u.size(), Real{-1});
    mocha::MakeWindowExpectation<Real>(ConfigOf(w))
        ->Forward(Row(), RowView(beta));
    return beta;
  }
  std::vector<Real> Published(const std::string& variant) const {
    std::vector<Real> beta(u.size(), Real{-1});
    mocha::PublishedWindow<Real>(
        ConfigOf(w, variant),
        {.start = {}, .p = {}, .selection = alpha, .chunk_energies = u}, beta);
    return beta;
  }
};

template <class Real>
struct Gradient {
  std::vector<Carry<Real>> alpha;
  std::vector<Real> u;
};

// Calls Backward on an object that has done a Forward, with numbers in alpha's
// gradient, which it replaces.
template <class Real>
Gradient<Real> GradientOf(const Case<Real>& c) {
  Gradient<Real> gradient{std::vector<Carry<Real>>(c.u.size(), 3),
                          std::vector<Real>(c.u.size(), Real{-7})};
  std::vector<Real> beta(c.u.size());
  const auto step = mocha::MakeWindowExpectation<Real>(ConfigOf(c.w));
  step->Forward(c.Row(), RowView(beta));
  step->Backward(c.Row(), RowView(c.d),
                 {.start = {},
                  .p = {},
                  .selection = RowView(gradient.alpha),
                  .chunk_energies = RowView(gradient.u)});
  return gradient;
}

// Makes eq 17 and its derivatives by their definitions.
struct Expected {
  std::vector<long double> beta, d_alpha, d_u;
};

template <class Real>
Expected ByDefinition(const Case<Real>& c) {
  const Index T = static_cast<Index>(c.u.size());
  Expected out;
  out.beta.resize(c.u.size());
  out.d_alpha.resize(c.u.size());
  out.d_u.resize(c.u.size());
  for (Index k = 0; k < T; ++k) {
    const Index v = c.w > k ? 0 : k - c.w + 1;
    long double largest = c.u[Size(v)];
    for (Index l = v; l <= k; ++l) {
      largest = std::max<long double>(largest, c.u[Size(l)]);
    }
    std::vector<long double> weights;
    long double sum = 0, m = 0;
    for (Index l = v; l <= k; ++l) {
      weights.push_back(std::exp(c.u[Size(l)] - largest));
      sum += weights.back();
    }
    for (Index l = v; l <= k; ++l) {
      const long double weight = weights[Size(l - v)] /= sum;
      out.beta[Size(l)] += c.alpha[Size(k)] * weight;
      if (!c.d.empty()) m += weight * c.d[Size(l)];
    }
    if (c.d.empty()) continue;
    out.d_alpha[Size(k)] = m;
    for (Index j = v; j <= k; ++j) {
      out.d_u[Size(j)] +=
          weights[Size(j - v)] * c.alpha[Size(k)] * (c.d[Size(j)] - m);
    }
  }
  return out;
}

const std::vector<std::string>& Shapes() {
  static const std::vector<std::string> shapes = {
      "random",  "wide",   "huge",     "rising",
      "falling", "valley", "constant", "greatest"};
  return shapes;
}

double Energy(const std::string& shape, Index j, Index T,
              std::mt19937& generator) {
  const double random = std::normal_distribution<double>()(generator);
  const double x = static_cast<double>(j);
  if (shape == "random") return random;
  if (shape == "wide") return 300 * random;
  if (shape == "huge") return random < 0 ? -1e4 : 1e4;
  if (shape == "rising") return x;
  if (shape == "falling") return -x;
  if (shape == "valley") return std::abs(x - static_cast<double>(T) / 2);
  if (shape == "constant") return 7;
  const double greatest = std::numeric_limits<float>::max();
  return random < -1 ? -greatest : (random < 1 ? random : greatest);
}

template <class Real>
Real ToReal(double value) {
  return static_cast<Real>(value);
}

// The numbers are those of f32 in any precision.
template <class Real>
Case<Real> MakeCase(Index T, Index w, const std::string& shape, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Case<Real> c{.w = w, .alpha = {}, .u = {}, .d = {}};
  for (Index j = 0; j < T; ++j) {
    // A third of the entries is never chosen, some with little probability.
    const double chance = std::max(0.0, uniform(generator) + 1.0 / 3);
    c.alpha.push_back(static_cast<Real>(
        static_cast<float>(std::pow(chance, 4) / static_cast<double>(T))));
    c.u.push_back(
        static_cast<Real>(static_cast<float>(Energy(shape, j, T, generator))));
    c.d.push_back(static_cast<Real>(static_cast<float>(uniform(generator))));
  }
  return c;
}

template <class Real>
Case<Real> DrawCase() {
  const Index T = DrawIndex("T", 1, 40);
  const Index w =
      DrawOneOf<Index>("w", {2, 3, 7, std::max<Index>(2, T - 1),
                             std::max<Index>(2, T), T + 1, kInfiniteWidth});
  const std::string shape = DrawOneOf("shape", Shapes());
  return MakeCase<Real>(T, w, shape,
                        static_cast<unsigned>(DrawIndex("seed", 0, 1000)));
}

// Whether |actual - expected| <= relative |expected| + absolute, which is false
// for NaN.
template <class Real, class Wide>
bool Agrees(const std::vector<Real>& actual, const std::vector<Wide>& expected,
            long double relative, long double absolute) {
  if (actual.size() != expected.size()) return false;
  for (std::size_t j = 0; j < actual.size(); ++j) {
    const long double wide = expected[j];
    const long double error = std::abs(actual[j] - wide);
    if (!(error <= relative * std::abs(wide) + absolute)) {
      ADD_FAILURE() << "[" << j << "] is " << actual[j] << ", not "
                    << static_cast<double>(wide);
      return false;
    }
  }
  return true;
}

template <class Real>
class MochaTrainingTest : public ::testing::Test {
 protected:
  static constexpr bool kSingle = std::is_same_v<Real, float>;
  static constexpr long double kRelative = kSingle ? 2e-7L : 1e-13L;
  // The way forward computes moderate energies in f32 itself.
  static constexpr long double kRelativeBeta = kSingle ? 1e-6L : kRelative;
  // The least error of numbers too small for Real, or for f64.
  static constexpr long double kTiny = kSingle ? 1e-37L : 1e-200L;
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MochaTrainingTest, Precisions);

TYPED_TEST(MochaTrainingTest, TheExpectationIsThatOfVectorsPublishedElsewhere) {
  auto c = MakeCase<TypeParam>(6, 3, "constant", 0);
  std::ranges::transform(std::vector<double>{.1, .2, .05, .3, .15, .1},
                         c.alpha.begin(), ToReal<TypeParam>);
  std::ranges::transform(std::vector<double>{.1, -.3, .7, .2, -.5, .4},
                         c.u.begin(), ToReal<TypeParam>);
  EXPECT_TRUE(Agrees<TypeParam>(
      c.Beta(),
      std::vector<double>{.2340541750, .1457563177, .2566584317, .1766407907,
                          .0419525320, .0449377529},
      1e-6L, 1e-10L));
  const std::vector<double> whole = {.3438453633, .1634544352, .2261392126,
                                     .1213380284, .0244440107, .0207789499};
  for (const Index w : {Index{6}, Index{7}, kInfiniteWidth}) {
    c.w = w;
    EXPECT_TRUE(Agrees<TypeParam>(c.Beta(), whole, 1e-6L, 1e-10L));
  }
}

TYPED_TEST(MochaTrainingTest, AChunkOfOneEntryHasNoStep) {
  EXPECT_EQ(mocha::MakeWindowExpectation<TypeParam>(ConfigOf(1)), nullptr);
  for (const std::string variant : {"nested", "moving_sum", "clipped"}) {
    const Case<TypeParam> c{.w = 1, .alpha = {.5, .25}, .u = {}, .d = {}};
    std::vector<TypeParam> beta(2);
    mocha::PublishedWindow<TypeParam>(
        ConfigOf(1, variant),
        {.start = {}, .p = {}, .selection = c.alpha, .chunk_energies = {}},
        beta);
    EXPECT_EQ(beta, c.alpha);
  }
}

TYPED_TEST(MochaTrainingTest, TheExpectationIsEquation17ForAnyEnergies) {
  CheckProperty(
      [] {
        const auto c = DrawCase<TypeParam>();
        RC_ASSERT(Agrees(c.Beta(), ByDefinition(c).beta,
                         TestFixture::kRelativeBeta, TestFixture::kTiny));
      },
      400);
}

TYPED_TEST(MochaTrainingTest, TheGradientIsThatOfEquation17ForAnyEnergies) {
  CheckProperty(
      [] {
        const auto c = DrawCase<TypeParam>();
        const Expected expected = ByDefinition(c);
        const Gradient<TypeParam> gradient = GradientOf(c);
        const long double absolute = TestFixture::kSingle ? 1e-6L : 1e-14L;
        RC_ASSERT(Agrees(gradient.alpha, expected.d_alpha,
                         TestFixture::kRelative, absolute));
        RC_ASSERT(Agrees(gradient.u, expected.d_u, TestFixture::kRelative,
                         absolute / 10));
      },
      400);
}

TYPED_TEST(MochaTrainingTest, NoMassIsLostOrMade) {
  CheckProperty([] {
    const auto c = DrawCase<TypeParam>();
    long double before = 0, after = 0;
    for (const TypeParam value : c.alpha) before += value;
    for (const TypeParam value : c.Beta()) {
      RC_ASSERT(value >= 0);
      after += value;
    }
    RC_ASSERT(std::abs(after - before) <= TestFixture::kRelative);
  });
}

TYPED_TEST(MochaTrainingTest, NothingFiniteMakesSomethingInfinite) {
  constexpr TypeParam kMost = std::numeric_limits<TypeParam>::max();
  for (const Index w : {Index{2}, Index{3}, Index{5}, kInfiniteWidth}) {
    const Case<TypeParam> c{.w = w,
                            .alpha = {.125, 0, .25, .125, .125, .25},
                            .u = {-kMost, -kMost, kMost, kMost, -kMost, 0},
                            .d = {1, 2, 3, 4, 5, 6}};
    EXPECT_TRUE(Agrees(c.Beta(), ByDefinition(c).beta, 1e-7L, 0));
    const Gradient<TypeParam> gradient = GradientOf(c);
    EXPECT_TRUE(Agrees(gradient.alpha, ByDefinition(c).d_alpha, 1e-6L, 1e-6L));
    EXPECT_TRUE(Agrees(gradient.u, ByDefinition(c).d_u, 1e-6L, 1e-6L));
  }
}

// The kernels take rows of moderate energies together, and others lie between.
TYPED_TEST(MochaTrainingTest, AnOutputHasTheSameBitsBesideAnyOthers) {
  using Real = TypeParam;
  constexpr Index kT = 45;
  for (const Index w : {Index{2}, Index{7}, kInfiniteWidth}) {
    std::vector<Case<Real>> alone;
    for (unsigned n = 0; n < 20; ++n) {
      const bool is_moderate = n % 7 < 5;
      alone.push_back(
          MakeCase<Real>(kT, w, is_moderate ? "random" : "huge", n));
    }
    Case<Real> all{.w = w, .alpha = {}, .u = {}, .d = {}};
    for (const Case<Real>& c : alone) {
      all.alpha.insert(all.alpha.end(), c.alpha.begin(), c.alpha.end());
      all.u.insert(all.u.end(), c.u.begin(), c.u.end());
      all.d.insert(all.d.end(), c.d.begin(), c.d.end());
    }
    const auto table = [&](auto& numbers) {
      return MatrixView(numbers.data(), Index{20}, kT);
    };
    std::vector<Real> beta(all.u.size()), d_u(all.u.size());
    std::vector<Carry<Real>> d_alpha(all.u.size(), 3);
    const ChoiceRows<Real> rows{.start = {},
                                .p = {},
                                .complement = {},
                                .selection = table(std::as_const(all.alpha)),
                                .chunk_energies = table(std::as_const(all.u))};
    const auto step = mocha::MakeWindowExpectation<Real>(ConfigOf(w));
    step->Forward(rows, table(beta));
    step->Backward(rows, table(std::as_const(all.d)),
                   {.start = {},
                    .p = {},
                    .selection = table(d_alpha),
                    .chunk_energies = table(d_u)});
    for (std::size_t n = 0; n < alone.size(); ++n) {
      SCOPED_TRACE(n);
      const auto row = [&](const auto& numbers) {
        const auto first = numbers.begin() + static_cast<Index>(n) * kT;
        return std::vector(first, first + kT);
      };
      const Gradient<Real> gradient = GradientOf(alone[n]);
      EXPECT_EQ(row(beta), alone[n].Beta());
      EXPECT_EQ(row(d_u), gradient.u);
      EXPECT_EQ(row(d_alpha), gradient.alpha);
    }
  }
}

TYPED_TEST(MochaTrainingTest, DenormalMassIsNothingAndTheModeIsAsBefore) {
  using Real = TypeParam;
  auto c = MakeCase<Real>(40, 4, "random", 1);
  for (const std::uint64_t mode : {std::uint64_t{0}, FlushDenormals::kMode}) {
    std::optional<FlushDenormals> flush;
    if (mode != 0) flush.emplace();
    std::ranges::fill(c.alpha, std::numeric_limits<Real>::denorm_min());
    std::vector<Real> beta = c.Beta();
    EXPECT_EQ(FlushDenormals::Mode(), mode);
    if (FlushDenormals::kMode != 0) {
      EXPECT_EQ(beta, std::vector<Real>(40, 0));
    }
    GradientOf(c);
    EXPECT_EQ(FlushDenormals::Mode(), mode);
    c.u[7] = std::numeric_limits<Real>::max();
    GradientOf(c);
    EXPECT_EQ(FlushDenormals::Mode(), mode);
    c.u[7] = 0;
  }
}

TYPED_TEST(MochaTrainingTest, AnEmptyMemoryIsFine) {
  const Case<TypeParam> c{.w = 2, .alpha = {}, .u = {}, .d = {}};
  EXPECT_TRUE(c.Beta().empty());
  EXPECT_TRUE(GradientOf(c).u.empty());
}

// The slope of L = sum over j of d(j) beta(j), by a difference at `input`[j].
double Slope(Case<double> c, std::vector<double> Case<double>::*input,
             std::size_t j) {
  const auto loss = [&] {
    const std::vector<double> beta = c.Beta();
    double sum = 0;
    for (std::size_t k = 0; k < beta.size(); ++k) sum += c.d[k] * beta[k];
    return sum;
  };
  const double middle = (c.*input)[j];
  const double right = middle + 1e-5, left = middle - 1e-5;
  (c.*input)[j] = right;
  const double more = loss();
  (c.*input)[j] = left;
  return (more - loss()) / (right - left);
}

TEST(MochaTraining, TheGradientIsTheSlopeOfTheExpectation) {
  for (const std::string& shape : Shapes()) {
    if (shape == "greatest") continue;  // a step of 1e-5 changes nothing
    for (const Index w : {Index{2}, Index{3}, Index{7}, kInfiniteWidth}) {
      SCOPED_TRACE(shape + " " + std::to_string(w));
      const Case<double> c = MakeCase<double>(12, w, shape, 5);
      const Gradient<double> gradient = GradientOf(c);
      std::vector<double> d_alpha, d_u;
      for (std::size_t j = 0; j < c.u.size(); ++j) {
        d_alpha.push_back(Slope(c, &Case<double>::alpha, j));
        d_u.push_back(Slope(c, &Case<double>::u, j));
      }
      EXPECT_TRUE(Agrees(gradient.alpha, d_alpha, 1e-6L, 1e-10L));
      EXPECT_TRUE(Agrees(gradient.u, d_u, 1e-6L, 1e-10L));
    }
  }
}

// The beta for w = inf in O(T), from logarithms of sums over k <= j, then k >=
// j.
std::vector<long double> WholeMemory(const Case<float>& c) {
  const auto log_sum = [](long double a, long double b) {
    const long double largest = std::max(a, b);
    return largest + std::log1p(std::exp(std::min(a, b) - largest));
  };
  std::vector<long double> beta(c.u.size()), denominators;
  for (const float u : c.u) {
    denominators.push_back(
        denominators.empty() ? u : log_sum(denominators.back(), u));
  }
  long double sum = -1e30L;
  for (std::size_t j = c.u.size(); j-- > 0;) {
    if (c.alpha[j] > 0) {
      sum = log_sum(sum, std::log(static_cast<long double>(c.alpha[j])) -
                             denominators[j]);
    }
    beta[j] = std::exp(c.u[j] + sum);
  }
  return beta;
}

TEST(MochaTraining, ALongMemoryLosesNoDigits) {
  for (const std::string shape : {"random", "huge", "rising", "valley"}) {
    for (const Index w : {Index{4}, Index{64}, kInfiniteWidth}) {
      SCOPED_TRACE(shape + " " + std::to_string(w));
      Case<float> c = MakeCase<float>(20000, w, shape, 3);
      c.d.clear();
      const std::vector<long double> expected =
          w == kInfiniteWidth ? WholeMemory(c) : ByDefinition(c).beta;
      const long double most = *std::ranges::max_element(expected);
      EXPECT_TRUE(Agrees(c.Beta(), expected, 0, 2e-5L * most));
      EXPECT_TRUE(Agrees(c.Beta(), expected, 1e-6L, 1e-37L));
    }
  }
}

// ---- published variants -----------------------------------------------------

const Case<double> kClipDetector{
    .w = 2, .alpha = {0, 0, 1, 0, 0}, .u = {0, -20, -15, -3, 0}, .d = {}};

TEST(MochaTraining, OnlyTheClippedVariantFailsTheClipDetector) {
  const std::vector<double> exact = {0, .006693, .993307, 0, 0};
  EXPECT_TRUE(Agrees(kClipDetector.Beta(), exact, 0, 1e-6L));
  EXPECT_TRUE(Agrees(kClipDetector.Published("nested"), exact, 0, 1e-6L));
  EXPECT_TRUE(Agrees(kClipDetector.Published("moving_sum"), exact, 0, 1e-6L));
  EXPECT_TRUE(Agrees(kClipDetector.Published("parallel"), exact, 0, 1e-6L));
  EXPECT_TRUE(Agrees(kClipDetector.Published("clipped"),
                     std::vector<double>{0, .5, .5, 0, 0}, 0, 1e-6L));
}

TEST(MochaTraining, TheClippedVariantIsRelativeToTheLargestEnergy) {
  Case<double> raised = kClipDetector;
  for (double& u : raised.u) u += 1024;
  EXPECT_EQ(raised.Published("clipped"), kClipDetector.Published("clipped"));
}

TEST(MochaTraining, AMovingSumCountsItsCentreOnBothSides) {
  const Buffer<double> x = {0, 1, 2, 3, 4};
  for (const mocha::MovingSum<double> moving_sum :
       {&mocha::MovingSumByDifferences<double>,
        &mocha::MovingSumByConvolution<double>}) {
    EXPECT_EQ(moving_sum(x, 3, 1), (Buffer<double>{0, 1, 3, 6, 9}));
    EXPECT_EQ(moving_sum(x, 1, 3), (Buffer<double>{3, 6, 9, 7, 4}));
    EXPECT_EQ(moving_sum(x, 1, 1), x);
    EXPECT_EQ(moving_sum(x, kInfiniteWidth, kInfiniteWidth),
              Buffer<double>(5, 10));
  }
}

TEST(MochaTraining, ForModerateEnergiesThePublishedVariantsAreExact) {
  for (const std::string variant :
       {"nested", "moving_sum", "clipped", "parallel"}) {
    for (const Index w : {Index{2}, Index{3}, Index{12}, kInfiniteWidth}) {
      const Case<double> c = MakeCase<double>(12, w, "random", 8);
      EXPECT_TRUE(Agrees(c.Published(variant), c.Beta(), 0, 1e-14L))
          << variant << " " << w;
      if (variant != "parallel") continue;
      Case<double> wide = c;
      for (double& u : wide.u) u *= 100;
      EXPECT_TRUE(Agrees(wide.Published(variant), wide.Beta(), 0, 1e-14L)) << w;
    }
  }
}

TEST(MochaTraining, RawExponentialsOverflowAsPublished) {
  for (const std::string variant : {"nested", "moving_sum"}) {
    const Case<float> c{
        .w = 2, .alpha = {.5, .25, .25}, .u = {90, 91, 92}, .d = {}};
    EXPECT_TRUE(std::isnan(c.Published(variant)[1])) << variant;
  }
  const Case<float> huge{
      .w = 2, .alpha = {.5, .25, .25}, .u = {900, -900, 900}, .d = {}};
  EXPECT_EQ(huge.Published("parallel"), (std::vector<float>{.75, 0, .25}));
}

TEST(MochaTraining, OnlyDifferencesOfCumulativeSumsLoseDigits) {
  Case<float> c = MakeCase<float>(20000, 4, "random", 2);
  c.d.clear();
  const std::vector<long double> expected = ByDefinition(c).beta;
  const auto error = [&](const std::vector<float>& beta) {
    long double most = 0;
    for (std::size_t j = 0; j < beta.size(); ++j) {
      most = std::max(most, std::abs(beta[j] - expected[j]));
    }
    return most / *std::ranges::max_element(expected);
  };
  EXPECT_LT(error(c.Published("nested")), 1e-6L);
  EXPECT_GT(error(c.Published("moving_sum")), 1e-4L);
}

// Dual numbers carry derivatives by one element of u or alpha at a time.
TEST(MochaTraining, DualNumbersCarryTheGradientThroughAVariant) {
  using Number = Dual<double>;
  const Case<double> c = MakeCase<double>(9, 3, "random", 4);
  const Gradient<double> gradient = GradientOf(c);
  for (const std::string variant : {"nested", "moving_sum", "clipped"}) {
    Gradient<double> actual;
    for (std::size_t n = 0; n < 2 * c.u.size(); ++n) {
      std::vector<Number> alpha(c.alpha.begin(), c.alpha.end());
      std::vector<Number> u(c.u.begin(), c.u.end()), beta(c.u.size());
      Number& input = n < u.size() ? alpha[n] : u[n - u.size()];
      input = Number(input.derivative(0), true);
      mocha::PublishedWindow<Number>(
          ConfigOf(3, variant),
          {.start = {}, .p = {}, .selection = alpha, .chunk_energies = u},
          beta);
      double slope = 0;
      for (std::size_t j = 0; j < beta.size(); ++j) {
        slope += c.d[j] * beta[j].derivative(1);
      }
      (n < u.size() ? actual.alpha : actual.u).push_back(slope);
    }
    EXPECT_TRUE(Agrees(actual.alpha, gradient.alpha, 1e-12L, 1e-13L))
        << variant;
    EXPECT_TRUE(Agrees(actual.u, gradient.u, 1e-12L, 1e-13L)) << variant;
  }
}

}  // namespace
}  // namespace attnbench
