// Guards against a schema of experiment files that refuses what the program
// takes, or takes what it refuses for a wrong name.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/sweep/experiment.h"
#include "harness/sweep/sweep.h"
#include "harness/system/temporary_folder.h"
#include "tests/support/error_text.h"
#include "tests/support/schema.h"

namespace attnbench {
namespace {

std::string TextOf(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool Validates(const std::string& text) {
  return testing::Validates(nlohmann::json::parse(ExperimentSchemaText()),
                            Json::parse(text));
}

bool IsRead(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/experiment.json";
  std::ofstream(path) << text;
  return testing::ErrorText([&] { ReadExperiment(path, "full"); }).empty();
}

TEST(ExperimentSchema, TheCommittedFileIsTheSchemaOfTheTable) {
  EXPECT_TRUE(TextOf("results/schema/experiment.schema.json") ==
              ExperimentSchemaText())
      << "write it again: attnbench list --experiment-schema > "
         "results/schema/experiment.schema.json";
}

// Tests run in the folder of the project.
TEST(ExperimentSchema, EveryExperimentOfTheProjectIsValid) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator("experiments")) {
    const auto& path = entry.path();
    // Ledgers of targets are no experiments, nor are cases for `expect`;
    // what is trained has a schema of its own.
    if (path.extension() != ".json" || path.filename() == "targets.json" ||
        path.parent_path().filename() == "cases" ||
        path.parent_path().filename() == "training" ||
        path.filename() == "claims.json") {
      continue;
    }
    ++files;
    EXPECT_TRUE(Validates(TextOf(path))) << path;
  }
  EXPECT_GE(files, 15);
}

TEST(ExperimentSchema, TakesWhatTheProgramTakes) {
  for (const char* text :
       {R"({"name": "x"})",
        R"({"name": "x", "question": "q", "source": "s", "seed": 0,
               "repetitions": 1, "trials": 9, "options": {"strict": true}})",
        R"({"name": "x", "axes": {"dim": 4, "memory_length": "4:16:x2,20",
               "output_length": ["=T", 7], "chunk_width": [2, "inf", "3,4"],
               "workload": ["uniform,planted", "bias:-2"], "energy": "dot",
               "variant": "exact,reference"}})",
        R"({"name": "x", "alternatives": [{"mechanism": "soft"},
               {"mechanism": "mocha", "chunk_width": 2,
                "options": {"threshold": [0.5, 0.6]}}],
               "profiles": {"quick": {"repetitions": 2, "axes": {"dim": 8},
                 "alternatives": [{"mechanism": "soft"}]}}})",
        R"({"name": "x", "axes": {"dim": [4, 8]},
               "exclusions": [{"mechanism": ["soft", "mocha"], "dim": 8},
                              {"output_length": "=T", "dim": "4:8:4"}]})"}) {
    EXPECT_TRUE(Validates(text)) << text;
    EXPECT_TRUE(IsRead(text)) << text;
  }
}

TEST(ExperimentSchema, RefusesWhatTheProgramRefuses) {
  for (const char* text :
       {R"({})",
        R"([])",
        R"({"name": 3})",
        R"({"name": ""})",
        R"({"name": "x", "axis": {}})",
        R"({"name": "x", "axes": {"T": 4}})",
        R"({"name": "x", "axes": {"dim": 0}})",
        R"({"name": "x", "axes": {"dim": 2.5}})",
        R"({"name": "x", "axes": {"dim": []}})",
        R"({"name": "x", "axes": {"dim": null}})",
        R"({"name": "x", "axes": {"dim": "inf"}})",
        R"({"name": "x", "axes": {"dim": "=d"}})",
        R"({"name": "x", "axes": {"dim": "4:"}})",
        R"({"name": "x", "axes": {"energy": "dto"}})",
        R"({"name": "x", "axes": {"workload": "bias:"}})",
        R"({"name": "x", "axes": {"variant": "exact,"}})",
        R"({"name": "x", "repetitions": 0})",
        R"({"name": "x", "seed": -1})",
        R"({"name": "x", "trials": "2"})",
        R"({"name": "x", "options": {"thresold": 1}})",
        R"({"name": "x", "options": {"threshold": {}}})",
        R"({"name": "x", "alternatives": []})",
        R"({"name": "x", "alternatives": [{}]})",
        R"({"name": "x", "alternatives": [{"mechanism": "sotf"}]})",
        R"({"name": "x", "alternatives": [{"mechanism": "soft", "w": 2}]})",
        R"({"name": "x", "exclusions": []})",
        R"({"name": "x", "exclusions": [{}]})",
        R"({"name": "x", "exclusions": [{"options": {}}]})",
        R"({"name": "x", "exclusions": [{"mechanism": "sotf"}]})",
        R"({"name": "x", "profiles": {"fast": {}}})",
        R"({"name": "x", "profiles": {"quick": {"seed": 1}}})",
        R"({"name": "x", "profiles": {"quick": {"axes": {"T": 1}}}})"}) {
    EXPECT_FALSE(Validates(text)) << text;
    // The schema does not know which mechanism has an option: ExpandSweep
    // refuses it.
    if (std::string_view(text).find("thresold") == std::string_view::npos) {
      EXPECT_FALSE(IsRead(text)) << text;
    }
  }
}

}  // namespace
}  // namespace attnbench
