// Guards the step from start, p and u to beta of MAtChA against what a divide
// and conquer gets wrong at block borders, what scaled sums lose where u spans
// hundreds or thousands, and what a backward pass drops: all against the double
// sum over starts and choices in long double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "mechanisms/matcha/adaptive_expectation.h"
#include "mechanisms/matcha/published_adaptive.h"
#include "tests/support/training.h"

namespace attnbench {
namespace {

using matcha::MakeAdaptiveExpectation;
using testing::Rows;
using testing::RowView;

template <class Real>
struct Inputs {
  std::vector<Real> start, p, complement, u;

  std::size_t T() const { return p.size(); }
  // The choice is not looked at, but says how many outputs there are.
  ChoiceRows<Real> View() const {
    return {.start = start,
            .p = RowView(p),
            .complement = RowView(complement),
            .selection = RowView(p),
            .chunk_energies = RowView(u)};
  }
};

enum class Shape { kRandom, kHuge, kRising, kFalling, kSteep, kValley, kFlat };
constexpr Shape kShapes[] = {Shape::kRandom,  Shape::kHuge,  Shape::kRising,
                             Shape::kFalling, Shape::kSteep, Shape::kValley,
                             Shape::kFlat};

double Energy(Shape shape, std::size_t j, std::size_t T, double uniform) {
  const auto at = static_cast<double>(j);
  switch (shape) {
    case Shape::kRandom:
      return 3 * uniform;
    case Shape::kHuge:
      return uniform > 0 ? 1e4 : -1e4;
    case Shape::kRising:
      return at;
    case Shape::kFalling:
      return -at;
    case Shape::kSteep:
      return 300 * at;
    case Shape::kValley:
      return 40 * std::abs(at - static_cast<double>(T) / 2);
    case Shape::kFlat:
      break;
  }
  return -7;
}

// Some p are exactly 0 or 1, some starts 0; all numbers are those of f32.
template <class Real>
Inputs<Real> Draw(std::size_t T, Shape shape, double largest_p, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  Inputs<Real> drawn;
  for (std::size_t j = 0; j < T; ++j) {
    const double kind = uniform(generator);
    const auto p = static_cast<float>(largest_p * uniform(generator));
    const bool is_hard = largest_p == 1;
    drawn.p.push_back(is_hard && kind < 0.1   ? Real{0}
                      : is_hard && kind < 0.2 ? Real{1}
                                              : static_cast<Real>(p));
    drawn.complement.push_back(1 - drawn.p.back());
    drawn.start.push_back(
        kind > 0.7 ? Real{0}
                   : static_cast<Real>(static_cast<float>(
                         uniform(generator) / static_cast<double>(T))));
    drawn.u.push_back(static_cast<Real>(
        static_cast<float>(Energy(shape, j, T, 2 * uniform(generator) - 1))));
  }
  return drawn;
}

// The softmax of u over k..l.
template <class Real>
std::vector<long double> Weights(const Inputs<Real>& x, std::size_t k,
                                 std::size_t l) {
  const long double largest =
      *std::max_element(x.u.begin() + static_cast<std::ptrdiff_t>(k),
                        x.u.begin() + static_cast<std::ptrdiff_t>(l) + 1);
  std::vector<long double> weights;
  long double sum = 0;
  for (std::size_t n = k; n <= l; ++n) {
    weights.push_back(std::exp(x.u[n] - largest));
    sum += weights.back();
  }
  for (long double& weight : weights) weight /= sum;
  return weights;
}

// Calls pair(k, l, mass that starts at k and chooses l, weights of k..l).
template <class Real>
void ForEachPair(
    const Inputs<Real>& x,
    const std::function<void(std::size_t, std::size_t, long double,
                             const std::vector<long double>&)>& pair) {
  for (std::size_t k = 0; k < x.T(); ++k) {
    long double passed = x.start[k];
    for (std::size_t l = k; l < x.T(); ++l) {
      pair(k, l, passed * x.p[l], Weights(x, k, l));
      passed *= 1 - static_cast<long double>(x.p[l]);
    }
  }
}

template <class Real>
std::vector<long double> Definition(const Inputs<Real>& x) {
  std::vector<long double> beta(x.T());
  ForEachPair(x, [&](std::size_t k, std::size_t, long double mass,
                     const std::vector<long double>& weights) {
    for (std::size_t n = 0; n < weights.size(); ++n) {
      beta[k + n] += mass * weights[n];
    }
  });
  return beta;
}

template <class Real>
std::vector<Real> Forward(const Inputs<Real>& x) {
  std::vector<Real> beta(x.T(), -1);
  MakeAdaptiveExpectation<Real>(Config())->Forward(x.View(), RowView(beta));
  return beta;
}

// The largest error as a share of the largest entry.
template <class Real, class Expected>
double RelativeError(const std::vector<Real>& found,
                     const std::vector<Expected>& expected) {
  double largest = 0;
  double error = 0;
  for (std::size_t j = 0; j < found.size(); ++j) {
    const auto wanted = static_cast<double>(expected[j]);
    const double difference = std::abs(static_cast<double>(found[j]) - wanted);
    if (!(difference <= error)) error = difference;
    largest = std::max(largest, std::abs(wanted));
  }
  return largest > 0 ? error / largest : error;
}

template <class Real>
void ExpectDefinition(double tolerance) {
  unsigned seed = 0;
  for (std::size_t T = 1; T <= 40; ++T) {
    for (const Shape shape : kShapes) {
      const auto x = Draw<Real>(T, shape, T % 2 == 0 ? 1 : 0.3, ++seed);
      const double error = RelativeError(Forward(x), Definition(x));
      EXPECT_LE(error, tolerance)
          << "T " << T << " shape " << static_cast<int>(shape);
    }
  }
}

TEST(MatchaTrainingTest, IsTheDoubleSumOverStartsAndChoicesInF32) {
  ExpectDefinition<float>(2e-7);
}
TEST(MatchaTrainingTest, IsTheDoubleSumOverStartsAndChoicesInF64) {
  ExpectDefinition<double>(1e-14);
}

TEST(MatchaTrainingTest, BlocksOfManySizesAgreeWithTheDefinition) {
  for (const std::size_t T : {63U, 64U, 65U, 96U, 130U}) {
    for (const Shape shape : kShapes) {
      const auto x = Draw<double>(T, shape, 0.1, static_cast<unsigned>(T));
      EXPECT_LE(RelativeError(Forward(x), Definition(x)), 2e-14)
          << "T " << T << " shape " << static_cast<int>(shape);
    }
  }
}

TEST(MatchaTrainingTest, HasTheMassOfWhatIsChosen) {
  const auto x = Draw<double>(300, Shape::kValley, 0.05, 3);
  long double chosen = 0;
  for (std::size_t k = 0; k < x.T(); ++k) {
    long double passed = x.start[k];
    for (std::size_t l = k; l < x.T(); ++l) {
      chosen += passed * x.p[l];
      passed *= 1 - x.p[l];
    }
  }
  double sum = 0;
  for (const double weight : Forward(x)) {
    EXPECT_GE(weight, 0);
    sum += weight;
  }
  EXPECT_NEAR(sum, static_cast<double>(chosen), 1e-14);
}

TEST(MatchaTrainingTest, ALongMemoryKeepsItsDigitsInF32) {
  for (const Shape shape : {Shape::kRandom, Shape::kRising, Shape::kValley}) {
    Inputs<float> floats = Draw<float>(4000, shape, 0.002, 4);
    Inputs<double> doubles;
    doubles.start.assign(floats.start.begin(), floats.start.end());
    doubles.p.assign(floats.p.begin(), floats.p.end());
    for (const double p : doubles.p) doubles.complement.push_back(1 - p);
    doubles.u.assign(floats.u.begin(), floats.u.end());
    EXPECT_LE(RelativeError(Forward(floats), Forward(doubles)), 1e-6)
        << static_cast<int>(shape);
  }
}

TEST(MatchaTrainingTest, TwentyThousandEntriesKeepTheirDigitsInF32) {
  Inputs<float> floats = Draw<float>(20000, Shape::kRandom, 0.001, 5);
  // There are only three starts, so the definition takes 3 T terms and not T^2.
  std::ranges::fill(floats.start, 0.0F);
  floats.start[0] = floats.start[777] = floats.start[15000] = 0.25F;
  const std::size_t T = floats.T();
  std::vector<long double> expected(T);
  for (const std::size_t k : {0U, 777U, 15000U}) {
    std::vector<long double> sum(T), mass(T);
    long double total = 0;
    long double passed = floats.start[k];
    for (std::size_t l = k; l < T; ++l) {
      total += std::exp(static_cast<long double>(floats.u[l]));
      sum[l] = total;
      mass[l] = passed * floats.p[l];
      passed *= 1 - static_cast<long double>(floats.p[l]);
    }
    long double later = 0;
    for (std::size_t j = T; j-- > k;) {
      later += mass[j] / sum[j];
      expected[j] += std::exp(static_cast<long double>(floats.u[j])) * later;
    }
  }
  EXPECT_LE(RelativeError(Forward(floats), expected), 2e-5);
}

// ---- gradients ----

struct Backward {
  std::vector<double> start, p, u;
};

Backward Gradient(const Inputs<double>& x, const std::vector<double>& d) {
  Backward made{std::vector<double>(x.T(), 10), std::vector<double>(x.T(), 20),
                std::vector<double>(x.T(), 30)};
  MakeAdaptiveExpectation<double>(Config())->Backward(
      x.View(), RowView(d),
      {.start = made.start,
       .p = RowView(made.p),
       .selection = {},
       .chunk_energies = RowView(made.u)});
  // The gradients of start and p are added to what is there.
  for (double& value : made.start) value -= 10;
  for (double& value : made.p) value -= 20;
  return made;
}

long double Loss(const Inputs<double>& x, const std::vector<double>& d) {
  const std::vector<long double> beta = Definition(x);
  long double sum = 0;
  for (std::size_t j = 0; j < d.size(); ++j) sum += beta[j] * d[j];
  return sum;
}

TEST(MatchaTrainingTest, GradientsAreThoseOfFiniteDifferences) {
  std::mt19937 generator(6);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (const std::size_t T : {1U, 2U, 5U, 12U, 17U}) {
    for (const Shape shape : kShapes) {
      Inputs<double> x = Draw<double>(T, shape, 1, static_cast<unsigned>(T));
      std::vector<double> d(T);
      for (double& value : d) value = uniform(generator);
      const Backward made = Gradient(x, d);
      const auto difference = [&](double& value, double step) {
        const double at = value;
        value = at + step;
        const long double above = Loss(x, d);
        value = at - step;
        const long double below = Loss(x, d);
        value = at;
        return static_cast<double>((above - below) / (2 * step));
      };
      for (std::size_t j = 0; j < T; ++j) {
        const std::string where = "T " + std::to_string(T) + " shape " +
                                  std::to_string(static_cast<int>(shape)) +
                                  " entry " + std::to_string(j);
        // L is linear in start and in each p, so any step will do.
        EXPECT_NEAR(made.start[j], difference(x.start[j], 0.5), 1e-12) << where;
        EXPECT_NEAR(made.p[j], difference(x.p[j], 0.5), 1e-12) << where;
        EXPECT_NEAR(made.u[j], difference(x.u[j], 0x1p-12), 1e-7) << where;
      }
    }
  }
}

TEST(MatchaTrainingTest, AGradientWithAWideRangeIsTheNarrowOneShifted) {
  // Adding the same to all u changes nothing, however far off it is.
  Inputs<double> x = Draw<double>(30, Shape::kRandom, 1, 8);
  const std::vector<double> d = Draw<double>(30, Shape::kRandom, 1, 9).u;
  const Backward near = Gradient(x, d);
  for (double& u : x.u) u += 0x1p20;
  const Backward far = Gradient(x, d);
  for (std::size_t j = 0; j < 30; ++j) {
    EXPECT_NEAR(far.u[j], near.u[j], 1e-9);
    EXPECT_NEAR(far.p[j], near.p[j], 1e-9);
  }
}

// ---- published variants ----

template <class Real>
std::vector<Real> Published(const std::string& variant, const Inputs<Real>& x) {
  Config config;
  config.variant = variant;
  std::vector<Real> beta(x.T());
  matcha::PublishedAdaptive<Real>(
      config,
      {.start = x.start, .p = x.p, .selection = {}, .chunk_energies = x.u},
      beta);
  return beta;
}

// Sums in near-linear time look for octaves, in which NaN is not.
TEST(MatchaTrainingTest, NanInALongMemoryEndsInNan) {
  constexpr std::size_t T = 1200;
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{700}, std::size_t{1199}}) {
    Rows u(1, std::vector<double>(T, 0));
    u[0][at] = std::nan("");
    const auto made = testing::Train<float>(
        "matcha", testing::DefaultConfig(*FindMechanism<float>("matcha"), 0),
        {.p_choose = Rows(1, std::vector<double>(T, 0.01)),
         .chunk_energies = u},
        Rows(1, std::vector<double>(T, 1)));
    EXPECT_TRUE(std::isnan(made.attention(0, static_cast<Index>(at)))) << at;
    EXPECT_TRUE(std::isnan(made.d_chunk_energies(0, static_cast<Index>(at))))
        << at;
  }
}

TEST(MatchaTrainingTest, PublishedVariantsAreRightWhereNothingOverflows) {
  const auto x = Draw<double>(20, Shape::kRandom, 0.5, 10);
  for (const char* variant : {"nested", "partial_sums", "parallel"}) {
    EXPECT_LE(RelativeError(Published(variant, x), Forward(x)), 1e-12)
        << variant;
  }
}

TEST(MatchaTrainingTest, PartialProductsByDivisionAreNotANumberAfterAPOfOne) {
  auto x = Draw<double>(6, Shape::kRandom, 0.5, 11);
  x.p[2] = 1;
  x.complement[2] = 0;
  const auto partial = Published("partial_sums", x);
  EXPECT_TRUE(std::isnan(partial[4]));
  EXPECT_LE(RelativeError(Published("nested", x), Forward(x)), 1e-14);
}

TEST(MatchaTrainingTest, PublishedVariantsOverflowForLargeEnergies) {
  const auto x = Draw<double>(8, Shape::kHuge, 0.5, 12);
  for (const char* variant : {"nested", "partial_sums"}) {
    const auto beta = Published(variant, x);
    EXPECT_TRUE(std::ranges::any_of(beta, [](double value) {
      return !std::isfinite(value);
    })) << variant;
  }
}

TEST(MatchaTrainingTest, BetaOfAClosedFormsAlphaIsRightForAllEnergies) {
  for (const Shape shape : kShapes) {
    const auto x = Draw<double>(30, shape, 1, 14);
    EXPECT_LE(RelativeError(Published("parallel", x), Forward(x)), 1e-12);
  }
}

TEST(MatchaTrainingTest,
     BetaOfAClosedFormsAlphaKeepsItsDigitsForLargeEnergies) {
  auto x = Draw<float>(300, Shape::kRandom, 1, 15);
  for (float& u : x.u) u = std::round(u);
  const std::vector<float> near = Published("parallel", x);
  for (float& u : x.u) u += 0x1p20F;  // without rounding
  EXPECT_EQ(Published("parallel", x), near);
}

TEST(MatchaTrainingTest, GradientsOfPublishedVariantsAreThoseOfExact) {
  std::mt19937 generator(13);
  std::uniform_real_distribution<double> uniform(0.1, 0.9);
  const auto table = [&] {
    Rows rows(3, std::vector<double>(7));
    for (auto& row : rows) {
      for (double& value : row) value = uniform(generator);
    }
    return rows;
  };
  const testing::GivenRows rows{.p_choose = table(), .chunk_energies = table()};
  const Rows cotangent = table();
  Config config = testing::DefaultConfig(*FindMechanism<double>("matcha"), 0);
  const auto exact = testing::Train<double>("matcha", config, rows, cotangent);
  for (const char* variant : {"nested", "partial_sums", "parallel"}) {
    config.variant = variant;
    config.options["preset"] = std::string("mad2017");
    const auto made = testing::Train<double>("matcha", config, rows, cotangent);
    EXPECT_LE(RelativeError(made.d_choice.values(), exact.d_choice.values()),
              1e-11);
    EXPECT_LE(RelativeError(made.d_chunk_energies.values(),
                            exact.d_chunk_energies.values()),
              1e-11);
  }
}

}  // namespace
}  // namespace attnbench
