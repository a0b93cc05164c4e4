// Guards against a gap that is an artefact: a sampled process that is not the
// closed loop, a mean field where there is none, a sampling part that is taken
// at the mean context on both sides, an interval of the decoders that were
// drawn alone, and a lattice that mixes no states, or loses mass without a
// word.
#include "harness/gap/gap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/gap/lattice.h"
#include "harness/gap/processes.h"
#include "harness/gap/random_decoder.h"
#include "harness/gap/trained_loop.h"
#include "harness/machine/environment.h"
#include "mechanisms/description.h"
#include "mechanisms/registry.h"
#include "tests/support/schema.h"

namespace attnbench {
namespace {

constexpr DecoderSizes kSmallSizes = {
    .memory_length = 4, .output_length = 4, .dim = 5, .vocabulary = 6};

RandomDecoderSpec Small(double feedback, double recurrence = 1) {
  return {.sizes = kSmallSizes,
          .sharpness = 3,
          .feedback = feedback,
          .recurrence = recurrence,
          .seed = 3};
}

GapSettings SmallSettings(std::int64_t paths, double noise = 0) {
  return {.sizes = kSmallSizes,
          .decoders = 8,
          .paths = paths,
          .noise = noise,
          .states = 5};
}

// The largest element of a - b.
double Apart(const Table<double>& a, const Table<double>& b) {
  double largest = 0;
  for (std::size_t n = 0; n < a.values.size(); ++n) {
    largest = std::max(largest, std::abs(a.values[n] - b.values[n]));
  }
  return largest;
}

// The chain of a decoder, by enumeration.
GapChain Enumerated(const ClosedLoop& loop) {
  Processes processes(loop);
  const PathSums paths = EnumeratePaths(loop);
  GapChain chain;
  chain.with_noise = chain.expectation = processes.Expectation({});
  chain.at_mean_context = AtMeanContext(loop, paths);
  chain.sampled = MeansOf(paths);
  chain.threshold = processes.Threshold();
  chain.lattice = MakeLattice(loop, loop.memory().rows + 1).marginals;
  return chain;
}

TEST(Gap, WithoutFeedbackTheExpectationIsThatOfEveryPath) {
  const RandomDecoder decoder(Small(/*feedback=*/0));
  const GapChain chain = Enumerated(decoder);
  EXPECT_LT(Apart(chain.expectation.entries, chain.sampled.entries), 1e-14);
  EXPECT_LT(Apart(chain.expectation.outputs, chain.at_mean_context.outputs),
            1e-14);
  // The loss still sees the mean of contexts, where decoding has one of them.
  EXPECT_GT(VariationsOf(chain).outputs.sampling.back(), 0.05);
}

TEST(Gap, WithFeedbackTheExpectationIsAMeanField) {
  const auto variations = VariationsOf(Enumerated(RandomDecoder(Small(1))));
  // The first state depends on no context.
  EXPECT_LT(variations.entries.mean_field.front(), 1e-14);
  EXPECT_GT(variations.entries.mean_field.back(), 0.02);
  EXPECT_GT(variations.outputs.mean_field.back(), 0.02);
}

TEST(Gap, EveryPathHasItsProbabilityAndTheyAddUp) {
  const PathSums paths = EnumeratePaths(RandomDecoder(Small(1)));
  for (Index i = 0; i < 4; ++i) {
    double entries = 0;
    double outputs = 0;
    for (const double p : paths.marginals.entries.view().Row(i)) entries += p;
    for (const double p : paths.marginals.outputs.view().Row(i)) outputs += p;
    EXPECT_NEAR(entries, 1, 1e-14);
    EXPECT_NEAR(outputs, 1, 1e-14);
  }
}

TEST(Gap, SampledPathsAreThoseOfTheClosedLoop) {
  for (const double feedback : {0.0, 1.0}) {
    const RandomDecoder decoder(Small(feedback));
    const DecoderGap gap =
        MeasureDecoderGap(decoder, SmallSettings(40'000), 1, 2);
    const GapChain exact = Enumerated(decoder);
    // Frequencies of 40,000 paths have a standard deviation of at most 0.0025.
    EXPECT_LT(Apart(gap.chain.sampled.entries, exact.sampled.entries), 0.012);
    EXPECT_LT(Apart(gap.chain.sampled.outputs, exact.sampled.outputs), 0.012);
    EXPECT_LT(
        Apart(gap.chain.at_mean_context.outputs, exact.at_mean_context.outputs),
        0.012);
    ForEachPart(
        [](const MeasuredPart& measured, const std::vector<double>& is) {
          for (std::size_t i = 0; i < 5; ++i) {
            EXPECT_NEAR(measured.value[i], is[i], 0.012);
          }
        },
        gap.parts, VariationsOf(exact));
  }
}

TEST(Gap, TheLatticeIsExactWithoutRecurrenceAndNearerThanAMeanFieldWithIt) {
  for (const double feedback : {0.0, 1.0}) {
    const GapChain chain = Enumerated(RandomDecoder(Small(feedback, 0)));
    EXPECT_LT(Apart(chain.lattice.entries, chain.sampled.entries), 1e-14);
    EXPECT_LT(Apart(chain.lattice.outputs, chain.sampled.outputs), 1e-14);
  }
  const auto variations = VariationsOf(Enumerated(RandomDecoder(Small(1))));
  EXPECT_GT(variations.entries.lattice.back(), 1e-6);
  EXPECT_LT(variations.entries.lattice.back(),
            variations.entries.mean_field.back() / 4);
}

// Where recurrence is small the paths' states are near their mean, and what
// follows is near linear in them: half the recurrence leaves a quarter of the
// error. A state of one path alone would leave half.
TEST(Gap, TheStatesOfALatticeAreMeansOfPaths) {
  const auto error = [](double recurrence) {
    return VariationsOf(Enumerated(RandomDecoder(Small(1, recurrence))))
        .outputs.lattice.back();
  };
  EXPECT_NEAR(error(0.05) / error(0.1), 0.25, 0.05);
  EXPECT_NEAR(error(0.025) / error(0.05), 0.25, 0.03);
}

TEST(Gap, ALatticeOfFewStatesSaysWhatItLost) {
  const RandomDecoder decoder(Small(1));
  EXPECT_NEAR(MakeLattice(decoder, 5).kept_mass, 1, 1e-14);
  const Lattice few = MakeLattice(decoder, 2);
  EXPECT_LT(few.kept_mass, 0.99);
  double mass = 0;
  for (const double p : few.marginals.entries.view().Row(3)) mass += p;
  EXPECT_NEAR(mass, few.kept_mass, 1e-14);
  GapRequest request = {
      .sharpness = {1}, .feedback = {1}, .settings = SmallSettings(128)};
  request.settings.states = 1;
  try {
    MeasureGap(request);
    FAIL() << "accepted";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("at sharpness 1"));
  }
}

// Each output chooses the one entry with p = 1/2, so that and none tie.
TEST(Gap, ALatticeKeepsSoManyStatesWhereTheyTie) {
  RandomDecoderSpec spec = Small(1);
  spec.sizes.memory_length = 1;
  spec.sizes.output_length = 3;
  spec.sharpness = 0;
  const RandomDecoder decoder(spec);
  EXPECT_DOUBLE_EQ(MakeLattice(decoder, 1).kept_mass, 0.25);
  EXPECT_DOUBLE_EQ(MakeLattice(decoder, 2).kept_mass, 1);
}

// A result of the small decoders, which is checked against the schema, too.
const GapResult& SmallResult() {
  static const GapResult result = [] {
    GapResult made = MeasureGap({.sharpness = {3},
                                 .feedback = {0, 1},
                                 .settings = SmallSettings(4'000, 1)});
    made.context = MakeContext("attnbench gap", 1);
    return made;
  }();
  return result;
}

TEST(Gap, WithoutFeedbackThePartsOfTheMeanFieldAreAtTheirFloor) {
  const GapRow& open = SmallResult().points[0].mean;
  EXPECT_LT(open.entries.mean_field.value, 2 * open.entries.mean_field.floor);
  EXPECT_EQ(open.entries.mean_field.low, 0);
  EXPECT_LT(open.outputs.mean_field.value, 2 * open.outputs.mean_field.floor);
  EXPECT_GT(open.outputs.sampling.low, 10 * open.outputs.sampling.floor);
  const GapRow& closed = SmallResult().points[1].mean;
  EXPECT_GT(closed.entries.mean_field.low, closed.entries.mean_field.floor);
  EXPECT_GT(closed.entries.removed_noise.low,
            closed.entries.removed_noise.floor);
  EXPECT_LT(closed.outputs.total.value, closed.outputs.removed_noise.value +
                                            closed.outputs.mean_field.value +
                                            closed.outputs.sampling.value +
                                            closed.outputs.threshold.value);
}

TEST(Gap, NoPartIsOffByMuchMoreThanItsFloor) {
  for (const double feedback : {0.0, 1.0}) {
    const RandomDecoder decoder(Small(feedback));
    const DecoderGap gap = MeasureDecoderGap(decoder, SmallSettings(800), 1, 2);
    const auto exact = VariationsOf(Enumerated(decoder));
    ForEachPart(
        [](const MeasuredPart& measured, const std::vector<double>& is) {
          EXPECT_NEAR(measured.value.back(), is.back(),
                      2 * measured.floor.back() + 1e-12);
        },
        gap.parts, exact);
  }
}

// Of many results, each of a few decoders of its own: their intervals hold the
// part that random decoders have in the mean, and are as wide as the results
// lie apart.
TEST(Gap, IntervalsAreOfRandomDecoders) {
  constexpr int kResults = 60;
  constexpr int kKnown = 300;
  double known = 0;
  for (std::uint64_t n = 0; n < kKnown; ++n) {
    RandomDecoderSpec spec = Small(1);
    spec.seed = 1'000'000 + n;
    known += VariationsOf(Enumerated(RandomDecoder(spec)))
                 .outputs.mean_field.back() /
             kKnown;
  }
  int held = 0;
  double half = 0;
  double sum = 0;
  double squares = 0;
  for (std::uint64_t seed = 1; seed <= kResults; ++seed) {
    GapRequest request = {.sharpness = {3},
                          .feedback = {1},
                          .settings = SmallSettings(320),
                          .seed = seed};
    request.settings.decoders = 4;
    const GapEstimate estimate =
        MeasureGap(request).points[0].mean.outputs.mean_field;
    held += estimate.low <= known && known <= estimate.high;
    half += (estimate.high - estimate.value) / kResults;
    sum += estimate.value;
    squares += estimate.value * estimate.value;
  }
  // They say that they miss one in twenty.
  EXPECT_GE(held, kResults * 0.85);
  const double spread =
      std::sqrt((squares - sum * sum / kResults) / (kResults - 1));
  // Student's t of 3 degrees times the mean of such a standard deviation.
  EXPECT_NEAR(half / spread, 3.18 * 0.92, 0.7);
}

TEST(Gap, AResultIsAsItsSchemaSaysOnAnyNumberOfThreads) {
  const GapResult result = SmallResult();
  EXPECT_TRUE(testing::Validates(testing::SchemaOf("gap"), ToJson(result)));
  const RandomDecoder decoder(Small(1));
  const GapSettings settings = SmallSettings(640, 1);
  const auto of_threads = [&](int threads) {
    return MeasureDecoderGap(decoder, settings, 1, threads)
        .parts.outputs.total.value;
  };
  EXPECT_EQ(of_threads(1), of_threads(3));
}

// Without the closed loop's own sums: alpha of all outputs together, by the
// energies that the trained decoder gives `diagnose`.
TEST(Gap, ATrainedModelsExpectationIsAlphaOfItsScores) {
  const std::string path = "tests/cli/fed_model.json";
  const Checkpoint checkpoint = ReadCheckpoint(path);
  TrainedDecoder decoder(checkpoint, path);
  const Example example =
      MakeExample(checkpoint.run.settings.task_spec(), 1, 3);
  const TrainedLoop loop(decoder, example);
  Processes processes(loop);
  const Marginals made = processes.Expectation({});
  const NamedTables scores = decoder.Scores(example);
  const Table<float>& given = scores.at("energies");
  Table<double> energies(given.rows, given.cols);
  std::ranges::copy(given.values, energies.values.begin());
  Sequence<double> sequence;
  sequence.inputs.scores.Set("energies", energies.view());
  Table<double> alpha(given.rows, given.cols);
  const auto& mechanism = *FindMechanism<double>("monotonic");
  mechanism.Expect(DefaultConfig(mechanism.Describe(), Mode::kExpect), sequence,
                   {.attention = alpha.view()});
  ASSERT_EQ(made.entries.rows, alpha.rows);
  for (Index i = 0; i < alpha.rows; ++i) {
    for (Index j = 0; j < alpha.cols; ++j) {
      EXPECT_NEAR(made.entries(i, j), alpha(i, j), 1e-5);
    }
  }
}

}  // namespace
}  // namespace attnbench
