// Guards against scores that are not those which decoding goes by, an error
// that counts something else, and settings that make a decoder write beyond its
// arrays. Models are drawn, not trained.
#include "harness/training/held_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/training/parameter_shapes.h"
#include "mechanisms/common/philox.h"
#include "tests/support/error_text.h"
#include "tests/support/tiny_run.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;

constexpr Index kCount = 50;

// Every g is 1; r and biases are 0, so that some outputs choose an entry and
// others none. Outputs of a matrix have about its inputs' variance.
Checkpoint DrawnCheckpoint(const TrainingSettings& settings) {
  Checkpoint checkpoint{.run = testing::RunOf(settings)};
  std::uint32_t stream = 0;
  for (const auto& [name, shape] : ParameterShapesOf(settings)) {
    CheckpointArray& array = checkpoint.parameters[name];
    array.shape = shape;
    std::size_t count = 1;
    for (const Index length : shape) count *= Size(length);
    array.values.resize(count, name.ends_with(".g") ? 1 : 0);
    if (shape.empty() || name.ends_with(".b")) continue;
    const auto inputs = static_cast<double>(shape.back());
    for (std::size_t n = 0; n < count; ++n) {
      const double drawn = SymmetricUniform24(Philox(5, 0, stream, n)[0]);
      array.values[n] = std::sqrt(3 / inputs) * drawn;
    }
    ++stream;
  }
  return checkpoint;
}

TrainingSettings ChoosingSettings(const std::string& mechanism) {
  TrainingSettings settings = testing::TinySettings(mechanism);
  settings.least_symbols = 1;
  return settings;
}

// Energies so far from 0 that the expectation is what the threshold chooses.
void Sharpen(Checkpoint& checkpoint) {
  checkpoint.parameters.at("attention.g").values = {1e6};
}

// The choices by the threshold of these energies; -1: none, from then on.
std::vector<Index> ChoicesBy(const Table<float>& energies) {
  std::vector<Index> choices;
  Index j = 0;
  for (Index i = 0; i < energies.rows; ++i) {
    while (j < energies.cols && energies(i, j) < 0) ++j;
    choices.push_back(j < energies.cols ? j : -1);
  }
  return choices;
}

// Decodes sequences, takes what was decoded as the targets, and expects that
// the scores of these choose the same entries.
void ExpectScoresChooseWhatIsDecoded(const Checkpoint& checkpoint) {
  const TrainingRun& run = checkpoint.run;
  TrainedDecoder decoder(checkpoint, "c.json");
  Index chosen = 0, none = 0;
  for (std::uint32_t n = 0; n < kCount; ++n) {
    Example example =
        MakeExample(run.settings.task_spec(), run.held_out_seed, n);
    example.target.clear();
    std::vector<Index> positions;
    for (const DecodedOutput& output : decoder.Decode(example, 6)) {
      example.target.push_back(output.symbol);
      positions.push_back(output.position);
      (output.position < 0 ? none : chosen) += 1;
    }
    const NamedTables scores = decoder.Scores(example);
    EXPECT_EQ(ChoicesBy(scores.at("energies")), positions) << n;
    EXPECT_EQ(scores.contains("chunk_energies"), run.settings.has_chunks());
  }
  EXPECT_GT(chosen, 20);
  EXPECT_GT(none, 5);
}

TEST(ScoresOfATrainedModel, ChooseWhatIsDecoded) {
  for (const char* const mechanism : {"monotonic", "mocha", "matcha"}) {
    SCOPED_TRACE(mechanism);
    TrainingSettings settings = ChoosingSettings(mechanism);
    ExpectScoresChooseWhatIsDecoded(DrawnCheckpoint(settings));
    settings.bidirectional = settings.starts_from_encoder = false;
    settings.encoder_units = settings.dim;
    ExpectScoresChooseWhatIsDecoded(DrawnCheckpoint(settings));
  }
}

TEST(ScoresOfATrainedModel, FollowFromExpectedContextsWithInputFeeding) {
  for (const char* const mechanism : {"monotonic", "mocha", "matcha"}) {
    SCOPED_TRACE(mechanism);
    TrainingSettings settings = ChoosingSettings(mechanism);
    settings.input_feeding = true;
    Checkpoint checkpoint = DrawnCheckpoint(settings);
    Sharpen(checkpoint);
    ExpectScoresChooseWhatIsDecoded(checkpoint);
  }
}

TEST(ScoresOfHeldOut, ThatAreNotFiniteAreRefusedByPlace) {
  Checkpoint checkpoint = DrawnCheckpoint(ChoosingSettings("monotonic"));
  checkpoint.parameters.at("attention.g").values = {3e38};
  checkpoint.parameters.at("attention.r").values = {3e38};
  EXPECT_THAT(testing::ErrorText(
                  [&] { ScoresOfHeldOut(checkpoint, "c.json", kCount); }),
              HasSubstr("c.json: its energies are not finite, at output "));
}

TEST(DecodeHeldOut, HasNoErrorOfTargetsThatAreAllEmpty) {
  TrainingSettings settings = ChoosingSettings("monotonic");
  settings.least_symbols = 0;
  settings.most_symbols = 1;
  Checkpoint checkpoint = DrawnCheckpoint(settings);
  checkpoint.run.held_out_seed = 3;  // the fourth target is the first with one
  EXPECT_EQ(testing::ErrorText([&] { DecodeHeldOut(checkpoint, "c.json", 3); }),
            "c.json: the targets of its first 3 held-out sequences are empty, "
            "so that there is no error; ask for more");
  EXPECT_EQ(DecodeHeldOut(checkpoint, "c.json", 4).symbols, 1);
}

TEST(DecodeHeldOut, CountsEditsWithoutEndSymbolsWhateverTheThreads) {
  const Checkpoint checkpoint = DrawnCheckpoint(ChoosingSettings("mocha"));
  const TrainingRun& run = checkpoint.run;
  const HeldOutDecoding decoded = DecodeHeldOut(checkpoint, "c.json", kCount);
  ASSERT_EQ(std::ssize(decoded.sequences), kCount);
  TrainedDecoder decoder(checkpoint, "c.json");
  Index edits = 0, symbols = 0;
  for (std::uint32_t n = 0; n < kCount; ++n) {
    Example example =
        MakeExample(run.settings.task_spec(), run.held_out_seed, n);
    std::vector<Symbol> made;
    for (const DecodedOutput& output :
         decoder.Decode(example, run.settings.most_outputs())) {
      made.push_back(output.symbol);
    }
    if (made.back() == kEndSymbol) made.pop_back();
    example.target.pop_back();
    symbols += std::ssize(example.target);
    edits += EditDistance(made, example.target);
  }
  EXPECT_EQ(decoded.edits, edits);
  EXPECT_EQ(decoded.symbols, symbols);
  EXPECT_EQ(decoded.error(),
            static_cast<double>(edits) / static_cast<double>(symbols));
}

TEST(DecodeHeldOut, TellsHowMuchIsReadAndWhichOutputsChooseNothing) {
  Checkpoint checkpoint = DrawnCheckpoint(ChoosingSettings("monotonic"));
  checkpoint.parameters.at("attention.r").values = {-100};
  const auto never = *DecodeHeldOut(checkpoint, "c.json", kCount).choices;
  EXPECT_EQ(never.zero_contexts, 1);
  EXPECT_EQ(never.memory_read, 1);
  EXPECT_EQ(never.latency->ap, 1);
  checkpoint.parameters.at("attention.r").values = {100};
  const HeldOutDecoding first = DecodeHeldOut(checkpoint, "c.json", kCount);
  EXPECT_EQ(first.choices->zero_contexts, 0);
  double read = 0;
  for (const HeldOutSequence& sequence : first.sequences) {
    read += 1 / static_cast<double>(sequence.source_length);
  }
  EXPECT_NEAR(first.choices->memory_read, read / kCount, 1e-12);
  EXPECT_FALSE(
      DecodeHeldOut(DrawnCheckpoint(ChoosingSettings("soft")), "c.json", 2)
          .choices);
}

TEST(TrainedDecoder, RefusesSettingsThatDoNotFitEachOther) {
  Checkpoint checkpoint = DrawnCheckpoint(ChoosingSettings("monotonic"));
  checkpoint.run.settings.encoder_units = 400;
  EXPECT_THAT(
      testing::ErrorText([&] { TrainedDecoder(checkpoint, "c.json"); }),
      HasSubstr("c.json: run.settings.encoder_units: makes 800 numbers"));
}

TEST(TrainedDecoder, RefusesACheckpointWithoutItsParameters) {
  Checkpoint checkpoint = DrawnCheckpoint(ChoosingSettings("soft"));
  checkpoint.parameters.erase("output.b");
  EXPECT_THAT(testing::ErrorText([&] { TrainedDecoder(checkpoint, "c.json"); }),
              HasSubstr("c.json: parameters.output.b: is missing"));
}

TEST(TrainedDecoder, ReadsNoFurtherThanItsChoiceWhereItIsOnline) {
  TrainingSettings settings = ChoosingSettings("mocha");
  settings.bidirectional = settings.starts_from_encoder = false;
  settings.encoder_units = settings.dim;
  TrainedDecoder decoder(DrawnCheckpoint(settings), "c.json");
  ASSERT_TRUE(decoder.is_online());
  Index read_less = 0;
  for (std::uint32_t n = 0; n < kCount; ++n) {
    const Example example = MakeExample(settings.task_spec(), 1, n);
    Index read = 0;
    for (const DecodedOutput& made : decoder.Decode(example, 6)) {
      if (made.position >= 0) {
        EXPECT_EQ(made.entries_read, std::max(read, made.position + 1)) << n;
      }
      read = made.entries_read;
      read_less += read < example.source_length();
    }
  }
  EXPECT_GT(read_less, 10);
}

}  // namespace
}  // namespace attnbench
