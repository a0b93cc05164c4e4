// Guards against an experiment file whose mistake is ignored: a misspelt key
// would leave a default in its place, and the sweep would answer another
// question.
#include "harness/sweep/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/base/error.h"
#include "harness/base/json_file.h"
#include "harness/sweep/sweep.h"
#include "harness/system/temporary_folder.h"
#include "tests/support/error_text.h"

namespace attnbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string WriteFile(const std::string& text) {
  static const TemporaryFolder folder;
  std::string path = folder.path() + "/experiment.json";
  std::ofstream(path) << text;
  return path;
}

SweepRequest Read(const std::string& text, const std::string& profile) {
  return ReadExperiment(WriteFile(text), profile);
}

std::string ErrorOfPath(const std::string& path) {
  return testing::ErrorText([&] { ReadExperiment(path, "full"); });
}

constexpr char kWhole[] = R"({
  "name": "demo", "question": "q?", "source": "s", "seed": 7,
  "repetitions": 20, "trials": 100,
  "axes": {"memory_length": "4:16:x2", "output_length": "=T",
           "dim": [8, "16"], "workload": "uniform"},
  "options": {"threshold": [0.5, 0.7], "strict": true},
  "alternatives": [{"mechanism": "soft"},
                   {"mechanism": "mocha", "chunk_width": [2, "inf"],
                    "options": {"threshold": 0.6}}],
  "profiles": {"quick": {"axes": {"memory_length": 4}, "repetitions": 2}}})";

TEST(ReadExperiment, TheFilesOwnValuesAreTheFullProfile) {
  const SweepRequest request = Read(kWhole, "full");
  EXPECT_EQ(request.name, "demo");
  EXPECT_EQ(request.seed, 7U);
  EXPECT_EQ(request.repetitions, 20);
  EXPECT_EQ(request.trials, 100);
  EXPECT_EQ(ToJson(request.axes.at("memory_length")), Json({4, 8, 16}));
  EXPECT_EQ(ToJson(request.axes.at("output_length")), Json({"=T"}));
  EXPECT_EQ(ToJson(request.axes.at("dim")), Json({8, 16}));
  EXPECT_EQ(request.options.at("threshold").size(), 2U);
  EXPECT_EQ(request.options.at("strict")[0], OptionValue(true));
  ASSERT_EQ(request.alternatives.size(), 2U);
  const Alternative& mocha = request.alternatives[1];
  EXPECT_EQ(mocha.mechanism, "mocha");
  EXPECT_EQ(ToJson(mocha.axes.at("chunk_width")), Json({2, "inf"}));
  EXPECT_EQ(mocha.options.at("threshold")[0], OptionValue(0.6));
}

TEST(ReadExperiment, TheQuickProfileReplacesWhatItNamesAxisByAxis) {
  const SweepRequest request = Read(kWhole, "quick");
  EXPECT_EQ(request.repetitions, 2);
  EXPECT_EQ(request.trials, 100);
  EXPECT_EQ(ToJson(request.axes.at("memory_length")), Json::array({4}));
  EXPECT_EQ(ToJson(request.axes.at("dim")), Json({8, 16}));
  EXPECT_EQ(request.alternatives.size(), 2U);
}

TEST(ReadExperiment, AFileWithoutTheProfileIsRefused) {
  EXPECT_THROW(Read(R"({"name": "x"})", "quick"), UserError);
  EXPECT_THROW(Read(R"({"name": "x", "profiles": {}})", "quick"), UserError);
}

TEST(ReadExperiment, MistakesNameFileAndKeyAndWhatIsAllowed) {
  struct Wrong {
    const char* text;
    const char* message;
  };
  const Wrong cases[] = {
      {"", "is empty"},
      {"{\n  \"name\": }", "parse error at line 2, column 11"},
      {"{\"name\": \"x\"", "is not JSON"},
      {"\xff\xfe", "is not JSON"},
      {"[]", "[] is no object"},
      {"3", "3 is no object"},
      {"{}", "has no 'name'"},
      {R"({"name": 3})", "name: 3 is no text"},
      {R"({"name": ""})", "name: is an empty text"},
      {R"({"name": "x", "axis": {}})", "mean 'axes'?"},
      {R"({"name": "x", "name": "y"})", "key 'name' appears twice"},
      {R"({"name": "x", "axes": {"dims": 4}})", "axes: unknown key 'dims'"},
      {R"({"name": "x", "axes": {"T": 4}})", "axes: unknown key 'T'"},
      {R"({"name": "x", "axes": {"dim": 0}})", "axes.dim: 0 is out of range"},
      {R"({"name": "x", "axes": {"dim": [4, "a"]}})", "axes.dim[1]: 'a'"},
      {R"({"name": "x", "axes": {"dim": []}})", "axes.dim: the list"},
      {R"({"name": "x", "axes": {"dim": null}})", "axes.dim: must be a num"},
      {R"({"name": "x", "axes": {"memory_length": "10:5:1"}})",
       "axes.memory_length: range '10:5:1' ends"},
      {R"({"name": "x", "axes": 3})", "axes: 3 is no object"},
      {R"({"name": "x", "repetitions": 0})",
       "repetitions: 0 is no whole number from 1"},
      {R"({"name": "x", "repetitions": 2.5})",
       "repetitions: 2.5 is no whole number"},
      {R"({"name": "x", "repetitions": "2"})",
       "repetitions: \"2\" is no whole"},
      {R"({"name": "x", "trials": -1})", "trials: -1 is no"},
      {R"({"name": "x", "seed": -1})", "seed: -1 is no"},
      {R"({"name": "x", "options": {"threshold": {}}})",
       "options.threshold: is no number, no text"},
      {R"({"name": "x", "options": 1})", "options: 1 is no object"},
      {R"({"name": "x", "alternatives": {}})", "alternatives: {} is no list"},
      {R"({"name": "x", "alternatives": []})",
       "alternatives: is a list of 0 values"},
      {R"({"name": "x", "alternatives": [3]})",
       "alternatives[0]: 3 is no object"},
      {R"({"name": "x", "alternatives": [{}]})", "[0]: has no 'mechanism'"},
      {R"({"name": "x", "alternatives": [{"mechanism": "sotf"}]})",
       "alternatives[0].mechanism: unknown value 'sotf'; did you mean "
       "'soft'?"},
      {R"({"name": "x", "alternatives": [{"mechanism": "soft", "w": 2}]})",
       "alternatives[0]: unknown key 'w'"},
      {R"({"name": "x", "alternatives": [{"mechanism": "mocha",
           "chunk_with": 2}]})",
       "did you mean 'chunk_width'?"},
      {R"({"name": "x", "exclusions": [{}]})", "exclusions[0]: says nothing"},
      {R"({"name": "x", "exclusions": [{"mechanisms": "soft"}]})",
       "did you mean 'mechanism'?"},
      {R"({"name": "x", "profiles": {"quik": {}}})", "did you mean 'quick'?"},
      {R"({"name": "x", "profiles": {"quick": {"trails": 2}}})",
       "did you mean 'trials'?"},
      {R"({"name": "x", "profiles": {"quick": {"axes": {"dims": 2}}}})",
       "did you mean 'dim'?"},
      {R"({"name": "x", "profiles": {"quick": {"alternatives":
           [{"mechanism": "mocha", "worklaod": "uniform"}]}}})",
       "did you mean 'workload'?"},
  };
  for (const Wrong& wrong : cases) {
    const std::string path = WriteFile(wrong.text);
    EXPECT_THAT(ErrorOfPath(path),
                AllOf(::testing::StartsWith(path), HasSubstr(wrong.message)))
        << wrong.text;
  }
}

TEST(ReadExperiment, AWrongQuickProfileIsFound) {
  EXPECT_THROW(
      Read(R"({"name": "x", "profiles": {"quick": {"seed": 1}}})", "quick"),
      UserError);
}

TEST(ReadExperiment, WhatCannotBeReadIsNamed) {
  EXPECT_THAT(ErrorOfPath("no/such.json"),
              HasSubstr("no/such.json: cannot be read: No such file"));
  EXPECT_THAT(ErrorOfPath(TemporaryFolder().path()),
              HasSubstr("cannot be read: Is a directory"));
}

TEST(ReadExperiment, DeepNestingIsRefusedAndDoesNotExhaustTheStack) {
  const std::string deep(1'000'000, '[');
  EXPECT_THAT(ErrorOfPath(WriteFile(deep)), HasSubstr("nested deeper than"));
}

// Tests run in the folder of the project.
TEST(Experiments, EveryFileExpandsInBothProfiles) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("experiments")) {
    if (entry.path().extension() != ".json") continue;
    if (entry.path().filename() == "claims.json") continue;
    ++files;
    for (const char* profile : {"full", "quick"}) {
      const SweepRequest request =
          ReadExperiment(entry.path().string(), profile);
      EXPECT_EQ(request.name, entry.path().stem().string());
      const Sweep sweep = ExpandSweep(request);
      EXPECT_FALSE(sweep.points.empty());
      for (const Point& point : sweep.points) {
        for (const Cell& cell : point.cells) {
          EXPECT_EQ(cell.skip_reason, std::nullopt) << entry.path();
        }
      }
    }
  }
  EXPECT_GE(files, 2);
}

TEST(Experiments, TheTwoSpeedFiguresHaveThePapersGrids) {
  const auto expand = [](const char* path) {
    return ExpandSweep(ReadExperiment(path, "full"));
  };
  const Sweep mad = expand("experiments/mad_figure8.json");
  EXPECT_EQ(mad.points.size(), 6U * 6U * 2U);
  for (const Point& point : mad.points) EXPECT_EQ(point.cells.size(), 6U);
  EXPECT_GE(mad.trials, 100);
  const Sweep mocha = expand("experiments/mocha_figure3.json");
  EXPECT_EQ(mocha.points.size(), 10U);
  for (const Point& point : mocha.points) EXPECT_EQ(point.cells.size(), 7U);
}

}  // namespace
}  // namespace attnbench
