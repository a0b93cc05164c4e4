// Guards against an experiment of kind "decoder" whose mistake is ignored, and
// against sources that are not those that were asked for.
#include "harness/sweep/decoder_experiment.h"

#include <gmock/gmock.h>

#include <fstream>

#include "harness/base/error.h"
#include "harness/system/temporary_folder.h"

namespace attnbench {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Lt;

constexpr char kWhole[] = R"({
  "name": "demo", "kind": "decoder", "question": "q?", "source": "s",
  "seed": 7, "repetitions": 20, "model": {"vocabulary": 9, "units": [12, 3], "memory_share": [0.25, 1]},
  "sequences": 5, "length": [20, 3], "beam": [10, 1],
  "alternatives": [{"mechanism": "none"},
                   {"mechanism": "memory", "num_contexts": [2, 4],
                    "options": {"encoder_scoring": "sigmoid"}},
                   {"mechanism": "soft", "energy": "bilinear"}],
  "profiles": {"quick": {"repetitions": 2, "length": 6, "sequences": 1,
                         "model": {"units": 4},
                         "alternatives": [{"mechanism": "soft"}]}}})";

std::string PathOf(const std::string& text) {
  static const TemporaryFolder folder;
  std::string path = folder.path() + "/experiment.json";
  std::ofstream(path) << text;
  return path;
}

DecoderExperiment Read(const std::string& text, const std::string& profile) {
  return ReadDecoderExperiment(StandardAxes(), PathOf(text), profile);
}

std::string ErrorOf(const std::string& text,
                    const std::string& profile = "full") {
  try {
    Read(text, profile);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

// A whole experiment with a part of its text replaced.
std::string With(const std::string& part, const std::string& other) {
  std::string text = kWhole;
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), other);
}

TEST(DecoderExperiment, SaysWhatIsTimed) {
  const DecoderExperiment experiment = Read(kWhole, "full");
  EXPECT_EQ(experiment.name, "demo");
  EXPECT_EQ(experiment.seed, 7U);
  EXPECT_EQ(experiment.repetitions, 20);
  EXPECT_EQ(experiment.vocabulary, 9);
  EXPECT_THAT(experiment.units, ElementsAre(12, 3));
  EXPECT_THAT(experiment.memory_shares, ElementsAre(0.25, 1));
  EXPECT_EQ(experiment.num_sequences, 5);
  EXPECT_THAT(experiment.lengths, ElementsAre(20, 3));
  EXPECT_THAT(experiment.beams, ElementsAre(10, 1));
  EXPECT_TRUE(experiment.has_plain);
  EXPECT_EQ(experiment.cells.size(), 6U);
  const std::vector<DecoderSetting> settings = SettingsOf(experiment);
  ASSERT_EQ(settings.size(), 16U);
  EXPECT_EQ(settings[1].units, 12);
  EXPECT_EQ(settings[1].memory_share, 0.25);
  EXPECT_EQ(settings[1].length, 20);
  EXPECT_EQ(settings[1].beam, 1);
  EXPECT_EQ(settings[4].memory_share, 1);
  for (const DecoderSetting& setting : settings) {
    EXPECT_EQ(CellCount(experiment, setting), 4);
    const std::vector<const Cell*> cells = CellsOfPoint(experiment, setting);
    ASSERT_EQ(cells.size(), 3U);
    EXPECT_EQ(cells[1]->mechanism, "memory");
    EXPECT_EQ(cells[1]->Int("num_contexts"), 4);
    EXPECT_EQ(cells[1]->Int("dim"), setting.units);
    EXPECT_EQ(cells[1]->options.at("encoder_scoring"),
              OptionValue(std::string("sigmoid")));
    EXPECT_EQ(cells[2]->Text("energy"), "bilinear");
  }
}

TEST(DecoderExperiment, TheQuickProfileReplacesWhatItNames) {
  const DecoderExperiment experiment = Read(kWhole, "quick");
  EXPECT_EQ(experiment.repetitions, 2);
  EXPECT_EQ(experiment.num_sequences, 1);
  EXPECT_THAT(experiment.lengths, ElementsAre(6));
  EXPECT_THAT(experiment.beams, ElementsAre(10, 1));
  EXPECT_EQ(experiment.vocabulary, 9);
  EXPECT_THAT(experiment.units, ElementsAre(4));
  EXPECT_THAT(experiment.memory_shares, ElementsAre(0.25, 1));
  EXPECT_FALSE(experiment.has_plain);
  ASSERT_EQ(experiment.cells.size(), 1U);
  EXPECT_EQ(experiment.cells[0].Text("energy"), "additive");
}

TEST(DecoderExperiment, ThoseOfTheProjectAreValidInBothProfiles) {
  for (const char* name : {"britz_table1", "britz_table3", "crossover_beam"}) {
    for (const char* profile : {"full", "quick"}) {
      const DecoderExperiment experiment = ReadDecoderExperiment(
          StandardAxes(), std::string("experiments/") + name + ".json",
          profile);
      EXPECT_EQ(experiment.name, name);
      EXPECT_THAT(experiment.beams, ::testing::Contains(10));
    }
  }
}

TEST(DecoderExperiment, WhatIsWrongIsNamed) {
  EXPECT_THAT(ErrorOf(With("\"kind\": \"decoder\", ", "")), HasSubstr("kind"));
  EXPECT_THAT(ErrorOf(With("\"kind\": \"decoder\"", "\"kind\": \"sweep\"")),
              AllOf(HasSubstr("kind"), HasSubstr("run-sweep")));
  EXPECT_THAT(ErrorOf(With("\"length\": [20, 3]", "\"length\": [-1]")),
              HasSubstr("length[0]"));
  EXPECT_THAT(ErrorOf(With("\"length\": [20, 3]", "\"lenght\": 4")),
              HasSubstr("did you mean 'length'"));
  EXPECT_THAT(ErrorOf(With("\"length\": [20, 3],", "")),
              HasSubstr("has no length"));
  EXPECT_THAT(ErrorOf(With("\"beam\": [10, 1]", "\"beam\": 0")),
              HasSubstr("beam"));
  EXPECT_THAT(ErrorOf(With("\"units\"", "\"unit\"")),
              HasSubstr("did you mean 'units'"));
  EXPECT_THAT(ErrorOf(With("\"vocabulary\": 9", "\"vocabulary\": 2")),
              HasSubstr("model.vocabulary"));
  for (const char* share : {"[0.25, 0]", "1.5", "\"all\""}) {
    EXPECT_THAT(ErrorOf(With("[0.25, 1]", share)),
                HasSubstr("model.memory_share"));
  }
  EXPECT_THAT(ErrorOf(With("\"soft\", \"energy\"", "\"sotf\", \"energy\"")),
              HasSubstr("did you mean 'soft'"));
  EXPECT_THAT(
      ErrorOf(With("\"energy\": \"bilinear\"", "\"memory_length\": 10")),
      AllOf(HasSubstr("memory_length"), HasSubstr("num_contexts")));
  EXPECT_THAT(ErrorOf(With("\"mechanism\": \"none\"",
                           "\"mechanism\": \"none\", \"num_contexts\": 2")),
              HasSubstr("none"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("object"));
  // Whichever profile is wanted.
  const std::string wrong = With("\"length\": 6", "\"length\": \"x\"");
  EXPECT_THAT(ErrorOf(wrong, "quick"), HasSubstr("profiles.quick.length"));
  EXPECT_THAT(ErrorOf(wrong, "full"), HasSubstr("profiles.quick.length"));
}

TEST(Sources, HaveLengthsFromNoneToTheLongest) {
  for (const Index count : {1, 4, 7, 201}) {
    const std::vector<Index> lengths = SourceLengths(1, 200, count);
    ASSERT_EQ(static_cast<Index>(lengths.size()), count);
    Index sum = 0;
    for (Index n = 0; n < count; ++n) {
      EXPECT_GE(lengths[Size(n)], n * 201 / count - 1);
      EXPECT_LE(lengths[Size(n)], (n + 1) * 201 / count);
      sum += lengths[Size(n)];
    }
    EXPECT_EQ(sum, 100 * count);
  }
  EXPECT_EQ(SourceLengths(1, 200, 201).front(), 0);
  EXPECT_EQ(SourceLengths(1, 200, 201).back(), 200);
  EXPECT_THAT(SourceLengths(1, 0, 3), Each(0));
  EXPECT_NE(SourceLengths(1, 200, 8), SourceLengths(2, 200, 8));
}

TEST(Sources, HaveSymbolsThatMeanSomething) {
  const std::vector<Symbol> source = DrawSource(1, 0, 1000, 20);
  EXPECT_EQ(source.size(), 1000U);
  EXPECT_THAT(source, Each(AllOf(Ge(kFirstSymbol), Lt(20))));
  for (Symbol v = kFirstSymbol; v < 20; ++v) {
    EXPECT_THAT(source, ::testing::Contains(v));
  }
  EXPECT_NE(source, DrawSource(1, 1, 1000, 20));
  EXPECT_TRUE(DrawSource(1, 0, 0, 20).empty());
}

}  // namespace
}  // namespace attnbench
