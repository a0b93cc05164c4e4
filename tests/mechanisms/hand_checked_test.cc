// Guards against a decoder and a reference that are wrong in the same way:
// every expected number here was worked out on paper. If no memory is given it
// is the identity, so that contexts are weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/given_inputs.h"

namespace attnbench {
namespace {

using testing::DecodeKeepingSteps;
using testing::DefaultConfig;
using testing::DenseWeights;
using ::testing::ElementsAre;
using testing::GivenInputs;
using testing::GivenRows;
using testing::KeptStep;
using testing::Rows;

// The output of a decoder for given scores.
struct Decoded {
  std::vector<Index> positions;
  std::vector<Index> inspected;
  Rows weights;
  Rows contexts;
};

Config ConfigFor(const std::string& mechanism) {
  Config config = DefaultConfig(*FindMechanism<double>(mechanism), 0);
  config.want_weights = true;
  return config;
}

Decoded Decode(const std::string& name, Config config, const GivenRows& rows) {
  const Mechanism<double>& mechanism = *FindMechanism<double>(name);
  GivenInputs<double> inputs(rows);
  config.dim = inputs.dim();
  const auto steps = DecodeKeepingSteps(mechanism, config, inputs.View());
  Decoded decoded;
  for (const KeptStep<double>& step : steps) {
    decoded.positions.push_back(step.position);
    decoded.inspected.push_back(step.inspected);
  }
  decoded.weights = DenseWeights(steps, inputs.T());
  for (Index i = 0; i < inputs.U(); ++i) {
    decoded.contexts.emplace_back();
    for (Index k = 0; k < inputs.dim(); ++k) {
      decoded.contexts.back().push_back(inputs.context(i, k));
    }
  }
  return decoded;
}

void ExpectNear(const Rows& actual, const Rows& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].size(), expected[i].size());
    for (std::size_t j = 0; j < actual[i].size(); ++j) {
      const double error = std::abs(actual[i][j] - expected[i][j]);
      if (!(error <= tolerance)) {
        ADD_FAILURE() << "[" << i << "][" << j << "] is " << actual[i][j]
                      << ", not " << expected[i][j];
      }
    }
  }
}

// Output 1 chooses entry 2; output 2 inspects entries 2..4 and chooses none;
// output 3 would choose entry 1, which is behind every scan, or 4.
const GivenRows kOneMiss = {
    .p_choose = {{.2, .9, .1, .1}, {.9, .1, .2, .3}, {.9, .1, .1, .8}}};

TEST(HandCheckedMonotonic, AbsorbGivesZerosAndEvaluatesNothingAfterAMiss) {
  const Decoded decoded = Decode("monotonic", ConfigFor("monotonic"), kOneMiss);
  EXPECT_THAT(decoded.positions, ElementsAre(1, -1, -1));
  EXPECT_THAT(decoded.inspected, ElementsAre(2, 3, 0));
  ExpectNear(decoded.contexts, {{0, 1, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, 0);
}

TEST(HandCheckedMonotonic, StayLastChoosesTheLastEntryUnseen) {
  Config config = ConfigFor("monotonic");
  config.end = EndPolicy::kStayLast;
  const Decoded decoded = Decode("monotonic", config, kOneMiss);
  // Output 2 inspects entries 2 and 3, output 3 nothing.
  EXPECT_THAT(decoded.positions, ElementsAre(1, 3, 3));
  EXPECT_THAT(decoded.inspected, ElementsAre(2, 2, 0));
  ExpectNear(decoded.contexts, {{0, 1, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 1}}, 0);
}

TEST(HandCheckedMonotonic, RestartGoesOnFromTheLastChosenEntry) {
  Config config = ConfigFor("monotonic");
  config.end = EndPolicy::kRestart;
  const Decoded decoded = Decode("monotonic", config, kOneMiss);
  // Output 3 starts at entry 2 again and finds entry 4.
  EXPECT_THAT(decoded.positions, ElementsAre(1, -1, 3));
  EXPECT_THAT(decoded.inspected, ElementsAre(2, 3, 3));
  ExpectNear(decoded.contexts, {{0, 1, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 1}}, 0);
}

TEST(HandCheckedMonotonic, RestartBeginsAtTheFirstEntryWhereNoneWasEverChosen) {
  Config config = ConfigFor("monotonic");
  config.end = EndPolicy::kRestart;
  const Decoded decoded =
      Decode("monotonic", config, {.p_choose = {{0, 0}, {1, 0}}});
  EXPECT_THAT(decoded.positions, ElementsAre(-1, 0));
  EXPECT_THAT(decoded.inspected, ElementsAre(2, 1));
}

TEST(HandCheckedMonotonic, AChosenEntryIsInspectedAgainByTheNextOutput) {
  // These are T + U - 1 = 4 energies, more than max(T, U) = 3.
  const Decoded decoded = Decode("monotonic", ConfigFor("monotonic"),
                                 {.p_choose = {{0, 1, 0}, {0, 0, 1}}});
  EXPECT_THAT(decoded.inspected, ElementsAre(2, 2));
}

// For p = [0,0,1,0,0,1,0,0], t(i-1) at index 4 chooses index 5.
TEST(HandCheckedMonotonic, ChoosesTheFirstEntryAfterThePreviousOne) {
  const Decoded decoded = Decode(
      "monotonic", ConfigFor("monotonic"),
      {.p_choose = {{0, 0, 0, 0, 1, 0, 0, 0}, {0, 0, 1, 0, 0, 1, 0, 0}}});
  EXPECT_THAT(decoded.positions, ElementsAre(4, 5));
}

TEST(HandCheckedMonotonic, HalfIsChosenUnlessStrict) {
  Config config = ConfigFor("monotonic");
  const GivenRows half_as_p = {.p_choose = {{.5, 1}}};
  const GivenRows half_as_energy = {.energies = {{0, 4}}};
  for (const GivenRows& rows : {half_as_p, half_as_energy}) {
    config.options["strict"] = false;
    EXPECT_THAT(Decode("monotonic", config, rows).positions, ElementsAre(0));
    config.options["strict"] = true;
    EXPECT_THAT(Decode("monotonic", config, rows).positions, ElementsAre(1));
  }
}

TEST(HandCheckedMonotonic, ThresholdIsOnProbabilitiesNotOnEnergies) {
  Config config = ConfigFor("monotonic");
  config.options["threshold"] = 0.75;
  // logit(0.75) = ln 3 = 1.0986
  EXPECT_THAT(
      Decode("monotonic", config, {.energies = {{.8, 1.09, 1.1, 9}}}).positions,
      ElementsAre(2));
  EXPECT_THAT(
      Decode("monotonic", config, {.p_choose = {{.5, .74, .75, 1}}}).positions,
      ElementsAre(2));
}

TEST(HandCheckedMonotonic, NeverChoosingGivesZeroContexts) {
  const Decoded decoded = Decode("monotonic", ConfigFor("monotonic"),
                                 {.p_choose = {{0, 0, 0}, {0, 0, 0}}});
  EXPECT_THAT(decoded.positions, ElementsAre(-1, -1));
  EXPECT_THAT(decoded.inspected, ElementsAre(3, 0));
  ExpectNear(decoded.contexts, {{0, 0, 0}, {0, 0, 0}}, 0);
}

// exp(u) = 1, 2, 4, 8, 16.
const std::vector<double> kPowersOfTwo = {0, std::log(2), std::log(4),
                                          std::log(8), std::log(16)};

TEST(HandCheckedMocha, WindowEndsAtTheChoiceAndIsCutAtTheStart) {
  Config config = ConfigFor("mocha");
  config.options["chunk_width"] = 3;
  const Decoded decoded =
      Decode("mocha", config,
             {.p_choose = {{1, 0, 0, 0, 0}, {0, 1, 0, 0, 0}, {0, 0, 0, 1, 0}},
              .chunk_energies = {kPowersOfTwo, kPowersOfTwo, kPowersOfTwo}});
  const Rows expected = {{1, 0, 0, 0, 0},
                         {1. / 3, 2. / 3, 0, 0, 0},
                         {0, 2. / 14, 4. / 14, 8. / 14, 0}};
  ExpectNear(decoded.weights, expected, 1e-15);
  ExpectNear(decoded.contexts, expected, 1e-15);
}

TEST(HandCheckedMocha, AWindowOfTwoIsTwoEntries) {
  Config config = ConfigFor("mocha");
  config.options["chunk_width"] = 2;
  const Decoded decoded =
      Decode("mocha", config,
             {.p_choose = {{0, 0, 0, 1, 0}}, .chunk_energies = {kPowersOfTwo}});
  ExpectNear(decoded.weights, {{0, 0, 1. / 3, 2. / 3, 0}}, 1e-15);
}

TEST(HandCheckedMocha, AnInfiniteWindowReachesBackToTheFirstEntry) {
  Config config = ConfigFor("mocha");
  config.options["chunk_width"] = kInfiniteWidth;
  const Decoded decoded =
      Decode("mocha", config,
             {.p_choose = {{0, 0, 0, 1, 0}}, .chunk_energies = {kPowersOfTwo}});
  ExpectNear(decoded.weights, {{1. / 15, 2. / 15, 4. / 15, 8. / 15, 0}}, 1e-15);
}

// This detects clipping: 1 / (1 + exp(-5)) = 0.993307, but an exp that is
// clipped below gives 0.5 and 0.5.
TEST(HandCheckedMocha, SmallChunkEnergiesAreNotClipped) {
  Config config = ConfigFor("mocha");
  config.options["chunk_width"] = 2;
  const Decoded decoded = Decode("mocha", config,
                                 {.p_choose = {{0, 0, 1, 0, 0}},
                                  .chunk_energies = {{0, -20, -15, -3, 0}}});
  ExpectNear(decoded.weights, {{0, .0066928509, .9933071491, 0, 0}}, 1e-10);
}

TEST(HandCheckedMocha, HugeChunkEnergiesNeitherOverflowNorVanish) {
  Config config = ConfigFor("mocha");
  config.options["chunk_width"] = 20;
  // There are more entries than a block of the softmax (16), the largest one
  // last.
  std::vector<double> p(20, 0), u(20, -1e4), expected(20, 0);
  p.back() = 1;
  u[18] = u[19] = 1e4;
  expected[18] = expected[19] = 0.5;
  ExpectNear(Decode("mocha", config, {.p_choose = {p}, .chunk_energies = {u}})
                 .contexts,
             {expected}, 0);
}

TEST(HandCheckedMatcha, ChunkRunsFromTheLastChoiceToThisOne) {
  const Decoded decoded =
      Decode("matcha", ConfigFor("matcha"),
             {.p_choose = {{0, 1, 0, 0, 0}, {0, 0, 0, 1, 0}, {0, 0, 0, 1, 0}},
              .chunk_energies = {kPowersOfTwo, kPowersOfTwo, kPowersOfTwo}});
  // t(0) is the first entry, t(1) = 2, t(2) = t(3) = 4.
  const Rows expected = {{1. / 3, 2. / 3, 0, 0, 0},
                         {0, 2. / 14, 4. / 14, 8. / 14, 0},
                         {0, 0, 0, 1, 0}};
  ExpectNear(decoded.weights, expected, 1e-15);
  ExpectNear(decoded.contexts, expected, 1e-15);
}

TEST(HandCheckedMatcha, RestartKeepsTheBeginningOfTheChunk) {
  Config config = ConfigFor("matcha");
  config.end = EndPolicy::kRestart;
  const Decoded decoded =
      Decode("matcha", config,
             {.p_choose = {{0, 1, 0, 0, 0}, {0, 0, 0, 0, 0}, {0, 0, 1, 0, 0}},
              .chunk_energies = {kPowersOfTwo, kPowersOfTwo, kPowersOfTwo}});
  ExpectNear(
      decoded.weights,
      {{1. / 3, 2. / 3, 0, 0, 0}, {0, 0, 0, 0, 0}, {0, 1. / 3, 2. / 3, 0, 0}},
      1e-15);
}

TEST(HandCheckedSoft, TwoEntries) {
  // exp(ln 3) / (exp(ln 3) + 1) = 3/4
  const Decoded decoded =
      Decode("soft", ConfigFor("soft"),
             {.energies = {{std::log(3), 0}}, .memory = {{4, 0}, {0, 8}}});
  ExpectNear(decoded.weights, {{.75, .25}}, 1e-15);
  ExpectNear(decoded.contexts, {{3, 2}}, 1e-15);
}

TEST(HandCheckedMemory, OneContextUnderSoftmaxIsTheSumOfTheMemory) {
  // A softmax over K = 1 is 1 for each entry; over time it would be a mean.
  Config config = ConfigFor("memory");
  config.options["num_contexts"] = 1;
  const Decoded decoded = Decode("memory", config,
                                 {.encoder_scores = {{3}, {-1}, {7}},
                                  .decoder_scores = {{5}, {-5}},
                                  .memory = {{1, 2}, {10, 20}, {100, 200}}});
  ExpectNear(decoded.weights, {{1, 1, 1}, {1, 1, 1}}, 1e-15);
  ExpectNear(decoded.contexts, {{111, 222}, {111, 222}}, 1e-13);
}

TEST(HandCheckedMemory, OneContextUnderSigmoidScalesIt) {
  Config config = ConfigFor("memory");
  config.options["num_contexts"] = 1;
  config.options["decoder_scoring"] = std::string("sigmoid");
  config.options["encoder_scoring"] = std::string("sigmoid");
  // sigmoid(ln 3) = 3/4, sigmoid(0) = 1/2
  const Decoded decoded = Decode("memory", config,
                                 {.encoder_scores = {{0}, {std::log(3)}},
                                  .decoder_scores = {{0}, {std::log(3)}}});
  ExpectNear(decoded.weights, {{.25, .375}, {.375, .5625}}, 1e-15);
}

TEST(HandCheckedMemory, SoftmaxIsOverTheContextsOfEachEntry) {
  Config config = ConfigFor("memory");
  config.options["num_contexts"] = 2;
  // alpha_1 = (3/4, 1/4), alpha_2 = (1/2, 1/2); beta = (1/4, 3/4).
  const Decoded decoded = Decode("memory", config,
                                 {.encoder_scores = {{std::log(3), 0}, {2, 2}},
                                  .decoder_scores = {{0, std::log(3)}}});
  // 3/16 + 3/16 and 1/8 + 3/8
  ExpectNear(decoded.weights, {{.375, .5}}, 1e-15);
  ExpectNear(decoded.contexts, {{.375, .5}}, 1e-15);
}

// L of Britz eq 10 alone: the encoder's sigmoid of 0 gives 1/2, which L
// multiplies outside; the decoder's sigmoid takes one context of the four.
Rows TwiceTheEncoding(const std::string& kind, std::int64_t max_length,
                      Index T) {
  Config config = ConfigFor("memory");
  config.options["num_contexts"] = 4;
  config.options["encoder_scoring"] = std::string("sigmoid");
  config.options["decoder_scoring"] = std::string("sigmoid");
  config.options["position_encoding"] = kind;
  config.options["place"] = std::string("outside");
  config.options["max_length"] = max_length;
  Rows decoder_scores(4, std::vector<double>(4, -1e4));
  for (std::size_t k = 0; k < 4; ++k) decoder_scores[k][k] = 1e4;
  Rows weights = Decode("memory", config,
                        {.encoder_scores = Rows(Size(T), {0, 0, 0, 0}),
                         .decoder_scores = decoder_scores})
                     .weights;
  for (auto& row : weights) {
    for (double& weight : row) weight *= 2;
  }
  return weights;
}

TEST(HandCheckedMemory, PositionEncodingCountsFromOne) {
  // The values are, for (k, t) = (1, 1): 3/4 7/8 + 1/4 1/8 = 22/32; (1, 2): 3/4
  // 6/8 + 1/4 2/8; (2, t): 1/2 whatever t is; (4, t): t/8.
  ExpectNear(TwiceTheEncoding("raw", 8, 2),
             {{22. / 32, 20. / 32},
              {1. / 2, 1. / 2},
              {10. / 32, 12. / 32},
              {1. / 8, 2. / 8}},
             1e-15);
}

TEST(HandCheckedMemory, PositionEncodingTakesTheLengthWhereNoneIsGiven) {
  // For S = T = 2, row 1 is 3/4 1/2 + 1/4 1/2 and 1/4, row 4 is 1/2 and 1.
  ExpectNear(TwiceTheEncoding("raw", 0, 2),
             {{.5, .25}, {.5, .5}, {.5, .75}, {.5, 1}}, 1e-15);
}

TEST(HandCheckedMemory, RenormalizedRowsSumToOneOrHaveMeanOne) {
  ExpectNear(TwiceTheEncoding("renormalized", 0, 2),
             {{2. / 3, 1. / 3}, {.5, .5}, {.4, .6}, {1. / 3, 2. / 3}}, 1e-15);
  ExpectNear(TwiceTheEncoding("renormalized_mean", 0, 2),
             {{4. / 3, 2. / 3}, {1, 1}, {.8, 1.2}, {2. / 3, 4. / 3}}, 1e-15);
}

TEST(HandCheckedMemory, InsideMultipliesTheScoreBeforeItsSigmoid) {
  Config config = ConfigFor("memory");
  config.options["num_contexts"] = 1;
  config.options["encoder_scoring"] = std::string("sigmoid");
  config.options["position_encoding"] = std::string("raw");
  // For K = 1, L(1, t) = t/T, so the scores are ln 3 and 2 ln 3: 3/4 and 9/10.
  const GivenRows rows = {
      .encoder_scores = {{2 * std::log(3)}, {2 * std::log(3)}},
      .decoder_scores = {{0}}};
  ExpectNear(Decode("memory", config, rows).weights, {{.75, .9}}, 1e-15);
  config.options["place"] = std::string("outside");
  ExpectNear(Decode("memory", config, rows).weights, {{.45, .9}}, 1e-15);
}

TEST(HandCheckedMemory, ALengthBeyondTheMaximumIsUnsupported) {
  EXPECT_NO_THROW(TwiceTheEncoding("raw", 2, 2));
  EXPECT_THROW(TwiceTheEncoding("raw", 1, 2), Unsupported);
}

}  // namespace
}  // namespace attnbench
