// Guards against an experiment that trains something else than it says: a
// misspelt setting that is silently the default, settings that do not fit each
// other, seeds that do not pair.
#include "harness/training/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/base/error.h"
#include "harness/base/json_file.h"
#include "harness/system/temporary_folder.h"
#include "tests/support/error_text.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;

Json MadeUpExperiment() {
  return Json::parse(R"({
    "name": "e", "question": "q", "source": "s", "seed": 5, "seeds": 3,
    "settings": {"steps": 100, "noise": 1, "curve_every": 0},
    "alternatives": [
      {"name": "soft", "seeds": 1, "settings": {"mechanism": "soft"}},
      {"name": "w2", "settings": {"mechanism": "mocha", "chunk_width": 2}}],
    "profiles": {"quick": {"seeds": 2, "settings": {"steps": 7}}}})");
}

std::vector<TrainingRun> RunsOf(const Json& json, bool quick = false) {
  return RunsOfExperiment(FromJson<TrainingExperiment>(json, "e.json"), quick,
                          "e.json");
}

TEST(TrainingExperiment, LaysSettingsOverEachOtherAndGoesThroughSeedsFirst) {
  const auto runs = RunsOf(MadeUpExperiment());
  ASSERT_EQ(runs.size(), 4u);
  std::vector<std::string> names;
  std::vector<std::uint64_t> seeds;
  for (const TrainingRun& run : runs) {
    names.push_back(run.name);
    seeds.push_back(run.seed);
    EXPECT_EQ(run.held_out_seed, 5u);
    EXPECT_EQ(run.settings.steps, 100);
    EXPECT_EQ(run.settings.noise, 1);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"soft", "w2", "w2", "w2"}));
  EXPECT_EQ(seeds, (std::vector<std::uint64_t>{5, 5, 6, 7}));
  EXPECT_EQ(runs[0].settings.mechanism, "soft");
  EXPECT_EQ(runs[1].settings.chunk_width, 2);
}

TEST(TrainingExperiment, QuickReplacesSettingsOfEveryAlternative) {
  const auto runs = RunsOf(MadeUpExperiment(), /*quick=*/true);
  ASSERT_EQ(runs.size(), 3u);
  for (const TrainingRun& run : runs) EXPECT_EQ(run.settings.steps, 7);
  Json without = MadeUpExperiment();
  without.erase("profiles");
  EXPECT_THROW(RunsOf(without, /*quick=*/true), UserError);
}

TEST(TrainingExperiment, NamesThePlaceOfWhatIsWrong) {
  const struct {
    const char* pointer;
    Json value;
    const char* message;
  } cases[] = {
      {"/settings/stepps", 3, "e.json: settings: unknown key 'stepps'"},
      {"/alternatives/1/settings/nois", 3,
       "e.json: alternatives[1].settings: unknown key 'nois'"},
      {"/alternatives/0/name", "w2", "e.json: alternatives[1].name: is there"},
      {"/alternatives/0/settings/mechanism", "sotf",
       "e.json: alternatives[0].settings.mechanism"},
      {"/settings/task", "translate", "e.json: settings.task"},
      {"/settings/steps", 0, "e.json: settings.steps"},
      {"/profiles/quick/settings/x", 1,
       "e.json: profiles.quick.settings: unknown key 'x'"},
      {"/seeds", 0, "e.json: seeds"},
      {"/seeds", 10'001, "e.json: seeds"},
      {"/seed", 9'007'199'254'740'992, "e.json: seed"},
      {"/seed", 18'446'744'073'709'551'615U, "e.json: seed"},
      {"/seed", 9'007'199'254'740'990,
       "e.json: seed: is 9007199254740990, and the last of 3 seeds of 'w2' "
       "would be 9007199254740992"},
      {"/alternatives", Json::array(), "e.json: alternatives"},
  };
  for (const auto& [pointer, value, message] : cases) {
    Json json = MadeUpExperiment();
    json[Json::json_pointer(pointer)] = value;
    EXPECT_THAT(testing::ErrorText([&] { RunsOf(json); }), HasSubstr(message))
        << pointer;
  }
}

// The trainer in Python is held to the same cases.
TEST(TrainingExperiment, RefusesByNameWhatCannotBeTrained) {
  const Json cases = ReadJsonFile("tests/train/refused.json");
  const auto error = [](const Json& settings) {
    Json json = Json::parse(R"({"name": "e", "question": "q", "source": "s",
                                "seed": 3, "alternatives": [{"name": "a"}]})");
    json["settings"] = settings;
    return testing::ErrorText([&] { RunsOf(json); });
  };
  for (const Json& one : cases["refused"]) {
    const std::string text = error(one["settings"]);
    EXPECT_THAT(text, HasSubstr("e.json: "));
    for (const std::string name : one["names"]) {
      EXPECT_THAT(text, HasSubstr(name)) << one;
    }
  }
  for (const Json& settings : cases["allowed"]) {
    EXPECT_EQ(error(settings), "") << settings;
  }
}

TEST(TrainingExperiment, TheLastSeedMayBeTheGreatest) {
  Json json = MadeUpExperiment();
  json["seed"] = kGreatestSeed - 2;
  EXPECT_EQ(RunsOf(json).back().seed, std::uint64_t{kGreatestSeed});
}

TEST(TrainingExperiment, IsCalledAsItsFile) {
  const TemporaryFolder folder;
  const std::string right = folder.path() + "/e.json";
  const std::string wrong = folder.path() + "/f.json";
  for (const std::string& path : {right, wrong}) {
    std::ofstream(path) << MadeUpExperiment().dump();
  }
  EXPECT_EQ(ReadTrainingExperiment(right).seeds, 3);
  EXPECT_THAT(testing::ErrorText([&] { ReadTrainingExperiment(wrong); }),
              HasSubstr("f.json: name: is 'e'; expected the file's, 'f'"));
}

}  // namespace
}  // namespace attnbench
