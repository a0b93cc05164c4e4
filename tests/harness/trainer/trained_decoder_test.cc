// Guards against a model that decodes otherwise without libtorch than with it,
// and against online decoding that reads ahead.
#include "harness/training/trained_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <functional>

#include "harness/trainer/trainer.h"
#include "harness/training/held_out.h"
#include "tests/support/error_text.h"
#include "tests/support/tiny_run.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;

// Logits that are closer than this may change places.
constexpr float kTie = 1e-4F;
constexpr Index kExamples = 64;
constexpr Index kMostSymbols = 8;

struct Case {
  std::string name;
  std::function<void(TrainingSettings&)> change;

  friend void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }
};

std::vector<Case> Cases() {
  std::vector<Case> cases = {
      {"frames",
       [](auto& s) {
         s.task = "stretch";
         s.least_symbols = 2;
         s.steps = 200;
       }},
      {"fed", [](auto& s) { s.input_feeding = true; }},
      {"starts_from_encoder", [](auto& s) { s.starts_from_encoder = true; }},
      {"bidirectional",
       [](auto& s) {
         s.bidirectional = s.starts_from_encoder = true;
         s.encoder_units = s.dim / 2;
       }},
      {"embedding_in_memory",
       [](auto& s) {
         s.embedding_in_memory = true;
         s.encoder_units = 4;
       }},
      {"position_encoding", [](auto& s) {
         s.mechanism = "memory";
         s.position_encoding = "raw";
         s.decoder_scoring = "sigmoid";
       }}};
  for (const std::string& mechanism : TrainedMechanismNames()) {
    cases.push_back({mechanism, [=](auto& s) {
                       s.mechanism = mechanism;
                       // Nothing else would tell it of the source.
                       s.starts_from_encoder = mechanism == "none";
                     }});
  }
  return cases;
}

class EverySetting : public ::testing::TestWithParam<Case> {
 protected:
  static TrainingSettings Settings() {
    TrainingSettings settings = testing::TinySettings("mocha");
    settings.bidirectional = settings.starts_from_encoder = false;
    settings.encoder_units = settings.dim;
    settings.steps = 60;
    settings.curve_every = 0;
    settings.noise = 1;
    GetParam().change(settings);
    return settings;
  }
};

TEST_P(EverySetting, DecodesTheTrainersSymbolsUnlessLogitsTie) {
  const TrainingSettings settings = Settings();
  Trainer trainer(testing::RunOf(settings));
  while (!trainer.IsDone()) trainer.Step();
  const Batch batch =
      MakeBatch(settings.task_spec(), ExampleSet::kHeldOut, 1, 0, kExamples);
  const auto expected = trainer.model().DecodeGreedily(batch, kMostSymbols,
                                                       settings.is_monotonic());
  TrainedDecoder decoder(trainer.Save(), "c.json");
  const bool is_online = decoder.is_online();
  bool read_less = false;
  std::size_t compared = 0;
  for (std::size_t b = 0; b < expected.size(); ++b) {
    const Example& example = batch.examples[b];
    Index read = 0;
    for (std::size_t i = 0;
         const DecodedOutput& made : decoder.Decode(example, kMostSymbols)) {
      const Symbol symbol =
          i < expected[b].size() ? expected[b][i] : kEndSymbol;
      ++i;
      if (made.margin < kTie) break;
      EXPECT_EQ(made.symbol, symbol) << b << " " << i;
      ++compared;
      read_less |= made.entries_read < example.source_length();
      if (is_online && settings.is_monotonic() && made.position >= 0) {
        EXPECT_EQ(made.entries_read, std::max(read, made.position + 1));
      }
      read = made.entries_read;
    }
  }
  EXPECT_GT(compared, 64u);
  EXPECT_EQ(read_less, is_online && settings.is_monotonic());
}

// The energies that the trainer has for a batch.
void ExpectEnergies(const at::Tensor& expected,  // [B, 1, U, T]
                    const std::vector<NamedTables>& scores) {
  for (Index b = 0; b < std::ssize(scores); ++b) {
    const Table<float>& energies = scores[Size(b)].at("energies");
    for (Index i = 0; i < energies.rows; ++i) {
      for (Index j = 0; j < energies.cols; ++j) {
        EXPECT_NEAR(energies(i, j), expected[b][0][i][j].item<float>(), 1e-4)
            << b << " " << i << " " << j;
      }
    }
  }
}

TEST_P(EverySetting, HasTheTrainersErrorAndEnergies) {
  const TrainingSettings settings = Settings();
  Trainer trainer(testing::RunOf(settings));
  while (!trainer.IsDone()) trainer.Step();
  const Checkpoint checkpoint = trainer.Save();
  const Evaluation evaluation = trainer.Evaluate(kExamples);
  // Ties may go the other way.
  EXPECT_NEAR(DecodeHeldOut(checkpoint, "c.json", kExamples).error(),
              evaluation.hard_error.value_or(evaluation.soft_error), 0.02);
  if (!settings.is_monotonic()) return;
  const Batch batch =
      MakeBatch(settings.task_spec(), ExampleSet::kHeldOut, 1, 0, kExamples);
  const Encoding encoding = trainer.model().Encode(batch);
  ExpectEnergies(trainer.model()
                     .Decode(encoding, encoding.first, batch.previous, {})
                     .attended.energies,
                 ScoresOfHeldOut(checkpoint, "c.json", kExamples));
}

INSTANTIATE_TEST_SUITE_P(TrainedDecoder, EverySetting,
                         ::testing::ValuesIn(Cases()),
                         [](const auto& each) { return each.param.name; });

TEST(TrainedDecoder, RefusesACheckpointWithoutItsParameters) {
  const Trainer trainer(testing::RunOf(testing::TinySettings("soft")));
  Checkpoint checkpoint = trainer.Save();
  checkpoint.parameters.erase("output.b");
  EXPECT_THAT(testing::ErrorText([&] { TrainedDecoder(checkpoint, "c.json"); }),
              HasSubstr("c.json: parameters.output.b: is missing"));
}

}  // namespace
}  // namespace attnbench
