// Guards against presets of the closed form that all compute the same, or
// something else than what was published: constants swapped, a product that is
// inclusive where it should not be, a clipping left out.
#include "mechanisms/monotonic/parallel_selection.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace attnbench {
namespace {

const ParallelConstants& Preset(const std::string& name) {
  for (const ParallelConstants& constants : ParallelPresets()) {
    if (constants.name == name) return constants;
  }
  ADD_FAILURE() << "no preset " << name;
  return ParallelPresets()[0];
}

template <class Real>
std::vector<Real> Select(const ParallelConstants& constants,
                         const std::vector<Real>& start,
                         const std::vector<Real>& p) {
  std::vector<Real> alpha(p.size());
  ParallelSelect<Real, Real>(constants, start, p, alpha);
  return alpha;
}
template <class Real>
std::vector<Real> Select(const std::string& preset,
                         const std::vector<Real>& start,
                         const std::vector<Real>& p) {
  return Select(Preset(preset), start, p);
}

template <class Real>
std::vector<Real> OneAt(std::size_t place, std::size_t length) {
  std::vector<Real> one(length, 0);
  one[place] = 1;
  return one;
}

// The recursion of MAD eq 9.
std::vector<double> Exact(const std::vector<double>& start,
                          const std::vector<double>& p) {
  std::vector<double> alpha;
  double q = 0;
  for (std::size_t j = 0; j < p.size(); ++j) {
    q += start[j];
    alpha.push_back(p[j] * q);
    q *= 1 - p[j];
  }
  return alpha;
}

void ExpectNear(const std::vector<double>& found,
                const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t j = 0; j < found.size(); ++j) {
    EXPECT_NEAR(found[j], expected[j], tolerance) << "entry " << j;
  }
}

const std::vector<double> kStart = {.4, .3, .2, .1};
const std::vector<double> kModerate = {.2, .5, .1, .7};

TEST(ParallelSelection,
     AllThatDivideByTheProductAreRightWhereNothingIsClipped) {
  for (const char* preset : {"mad2017", "tf", "nsp", "fsq_op"}) {
    SCOPED_TRACE(preset);
    ExpectNear(Select(preset, kStart, kModerate), Exact(kStart, kModerate),
               1e-15);
  }
  // 1e-6 is added to every 1 - p.
  ExpectNear(Select("fsq", kStart, kModerate), Exact(kStart, kModerate), 3e-6);
  const std::vector<double> added = Select("fsq", kStart, kModerate);
  EXPECT_GT(std::fabs(added[3] - Exact(kStart, kModerate)[3]), 1e-8);
}

TEST(TriangularSelection, IsRightWhereClosedFormsAreNot) {
  std::vector<double> p(40, .5);
  p[7] = 1;
  p[30] = 0;
  for (const std::size_t k : {0U, 7U, 8U, 35U, 39U}) {
    const auto start = OneAt<double>(k, 40);
    std::vector<double> alpha(40, -1);
    TriangularSelect<double>(start, p, alpha);
    ExpectNear(alpha, Exact(start, p), 1e-16);
  }
  std::vector<double> alpha(4, -1);
  TriangularSelect<double>(kStart, kModerate, alpha);
  ExpectNear(alpha, Exact(kStart, kModerate), 1e-16);
}

TEST(ParallelSelection, WithoutADenominatorOnlyAStartAtTheFirstEntryIsRight) {
  for (const char* preset : {"nsp_no_denominator", "denominator_one"}) {
    SCOPED_TRACE(preset);
    const auto one = OneAt<double>(0, 4);
    ExpectNear(Select(preset, one, kModerate), Exact(one, kModerate), 1e-15);
    // alpha is p(j) C(j) times the sum of the start up to j.
    ExpectNear(Select(preset, kStart, kModerate),
               {.2 * .4, .5 * .8 * .7, .1 * .4 * .9, .7 * .36}, 1e-15);
  }
}

TEST(ParallelSelection, TheInclusiveProductTakesInThePOfTheEntryItself) {
  // The start is one at 0, so alpha(j) = p(j) prod over n = 1..j of (1 - p(n)).
  ExpectNear(Select("jmin", OneAt<double>(0, 4), kModerate),
             {.2, .5 * .5, .1 * .45, .7 * .135}, 1e-15);
}

TEST(ParallelSelection, HalvesLoseWhatTheClipOfTheDenominatorSays) {
  const std::vector<double> p(40, .5);
  for (const std::size_t k : {0U, 5U, 19U, 20U, 30U, 33U, 34U, 35U, 39U}) {
    const double product = std::pow(2.0, -static_cast<double>(k));
    const auto start = OneAt<double>(k, 40);
    const auto at_k = [&](const char* preset) {
      return Select(preset, start, p)[k];
    };
    const double at_1e_10 = .5 * std::min(1.0, product / 1e-10);
    const double at_1e_6 = .5 * std::min(1.0, product / 1e-6);
    for (const char* preset : {"mad2017", "tf"}) {
      EXPECT_NEAR(at_k(preset), at_1e_10, 1e-12) << preset << " " << k;
    }
    for (const char* preset : {"nsp", "fsq_op"}) {
      EXPECT_NEAR(at_k(preset) / at_1e_6, 1, 1e-12) << preset << " " << k;
    }
    EXPECT_NEAR(at_k("fsq") / at_1e_6, 1, 2e-4) << k;
    EXPECT_NEAR(at_k("nsp_no_denominator"), .5 * product, 1e-15) << k;
    EXPECT_NEAR(at_k("denominator_one"), .5 * product, 1e-15) << k;
    EXPECT_NEAR(at_k("jmin"), .5, 1e-12) << k;  // product and quotient cancel
  }
  EXPECT_NEAR(Select("tf", OneAt<double>(35, 40), p)[35], .1455, 5e-5);
  EXPECT_NEAR(Select("nsp", OneAt<double>(35, 40), p)[35], 1.455e-5, 5e-9);
}

const std::vector<float> kOnes = {0, 0, 1, 0, 0, 1, 0, 0};

TEST(ParallelSelection, AOneBeforeTheStartLosesAllMassButWithClippedTerms) {
  const auto start = OneAt<float>(4, 8);
  const auto at_5 = [&](const char* preset) {
    return Select(preset, start, kOnes)[5];
  };
  EXPECT_NEAR(at_5("mad2017"), 1, 1e-5);
  EXPECT_GT(at_5("tf"), 0);
  EXPECT_NEAR(at_5("tf") / 1e-28F, 1, .2);
  EXPECT_EQ(at_5("fsq_op"), 0);
  EXPECT_EQ(at_5("denominator_one"), 0);
  EXPECT_NEAR(at_5("nsp"), 1, 1e-5);  // clips terms and product alike, at 1e-6
  EXPECT_NEAR(at_5("nsp_no_denominator"), 1e-6, 1e-11);
}

TEST(ParallelSelection, DenominatorOneIsExactForZerosAndOnesAfterTheStart) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    std::vector<double> p(8);
    for (std::size_t j = 0; j < 8; ++j) p[j] = (bits >> j) & 1U;
    for (std::size_t k = 0; k < 8; ++k) {
      const bool one_before = (bits & ((1U << k) - 1)) != 0;
      const auto start = OneAt<double>(k, 8);
      const auto found = Select("denominator_one", start, p);
      const auto exact = Exact(start, p);
      if (!one_before) {
        EXPECT_EQ(found, exact) << bits << " from " << k;
      } else {
        EXPECT_EQ(found, std::vector<double>(8, 0)) << bits << " from " << k;
      }
    }
  }
}

TEST(ParallelSelection,
     AnUnclippedDenominatorGivesNaNWhereTheProductUnderflows) {
  std::vector<float> p(12, 1);
  for (const float value : Select("jmin", OneAt<float>(11, 12), p)) {
    if (!std::isfinite(value)) return;
  }
  ADD_FAILURE() << "jmin is finite";
}

TEST(ParallelSelection, SelectionIsClippedWhereThePresetSaysSo) {
  // There are two starts, so the sum of the masses is 2.
  const std::vector<double> start = {1, 1};
  const std::vector<double> p = {0, 1};
  EXPECT_EQ(Select("fsq_op", start, p)[1], 1);
  EXPECT_EQ(Select("fsq", start, p)[1], 1);
  EXPECT_EQ(Select("tf", start, p)[1], 2);
}

TEST(ParallelSelection, NoTwoPresetsAreTheSame) {
  // p lies near and at 1, and starts are spread: every constant matters
  // somewhere.
  const std::vector<double> p = {.9, 1,  .3, 1 - 1e-8, 0,  .5,
                                 .9, .2, 1,  .7,       .4, .6};
  const std::vector<double> start(12, 1.0 / 12);
  std::vector<std::vector<double>> seen;
  for (const ParallelConstants& constants : ParallelPresets()) {
    const auto alpha = Select(constants, start, p);
    for (const auto& other : seen) EXPECT_NE(alpha, other) << constants.name;
    seen.push_back(alpha);
  }
  EXPECT_EQ(seen.size(), 8U);
}

TEST(ParallelSelection, TermsAndDenominatorHaveConstantsOfTheirOwn) {
  Config config;
  config.options = {{"preset", std::string("none")},
                    {"term_eps", 1e-3},
                    {"denominator_eps", 1e-2}};
  const std::vector<double> p = {1, .5};
  // C(1) is clip(0, 1e-3), over a denominator of 1e-2.
  const auto alpha =
      Select(ParallelConstantsOf(config), OneAt<double>(1, 2), p);
  EXPECT_NEAR(alpha[1], .5 * 1e-3 / 1e-2, 1e-15);
  config.options["preset"] = std::string("denominator_one");
  EXPECT_EQ(ParallelConstantsOf(config).name, "denominator_one");
}

}  // namespace
}  // namespace attnbench
