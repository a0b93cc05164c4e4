// Guards against an array of a case file that is lost or read as another one;
// harness/commands/malformed_cases.json has those that are refused.
#include "harness/inputs/case_file.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "harness/system/temporary_folder.h"

namespace attnbench {
namespace {

using ::testing::ElementsAre;

TEST(CaseFile, TakesEveryInputOfTheFormat) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/case.json";
  std::ofstream(path) << R"({"name": "x", "mechanism": "mocha",
      "options": {"chunk_width": 2}, "expected": {}, "tolerance": 1e-9,
      "inputs": {"p_choose": [[0, 1, 0.5]], "chunk_energies": [[-1e4, 2, 3]],
                 "memory": [[1, 2], [3, 4], [5, 6]], "states": [[7, 8]],
                 "cotangent": [[1, 1, 1]]}})";
  const CaseFile file = ReadCaseFile(path);
  CheckInputsOfMechanism(file);
  EXPECT_EQ(file.mechanism, "mocha");
  EXPECT_EQ(file.options.at("chunk_width"), OptionValue(2));
  EXPECT_THAT(file.Find("p_choose")->values, ElementsAre(0, 1, 0.5));
  EXPECT_EQ(file.View("memory")(2, 0), 5);
  EXPECT_EQ(file.Find("energies"), nullptr);
  EXPECT_EQ(file.Length('T'), 3);
  EXPECT_EQ(file.Length('U'), 1);
  EXPECT_EQ(file.Length('d'), 2);
  EXPECT_EQ(file.Length('K'), 0);
  EXPECT_FALSE(file.Scores().empty());
}

TEST(CaseFile, TakesEveryGoldenCase) {
  int num_cases = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("tests/golden")) {
    EXPECT_NO_THROW(CheckInputsOfMechanism(ReadCaseFile(entry.path())))
        << entry.path();
    ++num_cases;
  }
  EXPECT_EQ(num_cases, 45);
}

}  // namespace
}  // namespace attnbench
