// Guards against case files that are taken although they are wrong, and against
// messages that do not name the place.
#include "harness/inputs/case_file.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "harness/base/error.h"
#include "harness/system/temporary_folder.h"

namespace attnbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CaseFileTest : public ::testing::Test {
 protected:
  CaseFile Read(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    CaseFile file = ReadCaseFile(path_);
    CheckInputsOfMechanism(file);
    return file;
  }
  // The message about a wrong text, without the path that it must start with.
  std::string Complaint(const std::string& text) {
    try {
      Read(text);
    } catch (const UserError& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with(path_)) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      return message.substr(path_.size());
    }
    return "none";
  }
  std::string Mocha(const std::string& inputs) {
    return R"({"mechanism": "mocha", "inputs": {)" + inputs + "}}";
  }
  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/case.json";
};

TEST_F(CaseFileTest, TakesEveryInputOfTheFormat) {
  const CaseFile file = Read(R"({"name": "x", "mechanism": "mocha",
      "options": {"chunk_width": 2}, "expected": {}, "tolerance": 1e-9,
      "inputs": {"p_choose": [[0, 1, 0.5]], "chunk_energies": [[-1e4, 2, 3]],
                 "memory": [[1, 2], [3, 4], [5, 6]], "states": [[7, 8]],
                 "cotangent": [[1, 1, 1]]}})");
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

TEST_F(CaseFileTest, TakesEveryGoldenCase) {
  int num_cases = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("tests/golden")) {
    EXPECT_NO_THROW(CheckInputsOfMechanism(ReadCaseFile(entry.path())))
        << entry.path();
    ++num_cases;
  }
  EXPECT_EQ(num_cases, 45);
}

TEST_F(CaseFileTest, RefusesWhatIsNoJson) {
  EXPECT_THAT(Complaint(""), HasSubstr("is empty"));
  EXPECT_THAT(Complaint("{\"mechanism\": }"), HasSubstr("line 1, column 15"));
  EXPECT_THAT(Complaint(std::string("\x7f"
                                    "ELF\0\xff\n",
                                    7)),
              HasSubstr("is not JSON"));
  EXPECT_THAT(Complaint(Mocha(R"("p_choose": [[NaN]])")),
              HasSubstr("is not JSON: parse error at line 1"));
  EXPECT_THAT(Complaint("{\n\"tolerance\": 1e999}"),
              HasSubstr("line 2: 1e999 is beyond double precision"));
  EXPECT_THAT(Complaint("[" + std::string(100, '[')),
              HasSubstr("nested deeper than 64"));
  EXPECT_THAT(Complaint(R"({"name": "a", "name": "b"})"),
              HasSubstr("key 'name' appears twice"));
}

TEST_F(CaseFileTest, RefusesWhatCannotBeRead) {
  for (const std::string& path :
       {std::string("absent.json"), std::string(".")}) {
    try {
      ReadCaseFile(path);
      ADD_FAILURE() << path;
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), HasSubstr(path + ": cannot be read"));
    }
  }
}

TEST_F(CaseFileTest, RefusesUnknownKeysAndNamesTheNearest) {
  EXPECT_THAT(Complaint(R"({"mechansim": "soft"})"),
              HasSubstr("unknown key 'mechansim'; did you mean 'mechanism'?"));
  EXPECT_THAT(Complaint(R"({"mechanism": "mocca", "inputs": {}})"),
              HasSubstr(": mechanism: unknown mechanism 'mocca'; did you mean "
                        "'mocha'?"));
  EXPECT_THAT(Complaint(Mocha(R"("p_chose": [[1]])")),
              HasSubstr(": inputs: unknown key 'p_chose'; did you mean "
                        "'p_choose'?"));
  EXPECT_THAT(Complaint(R"({"mechanism": "soft"})"),
              HasSubstr(": has no 'inputs'"));
  EXPECT_THAT(Complaint(R"({"inputs": {}})"),
              HasSubstr(": has no 'mechanism'"));
}

TEST_F(CaseFileTest, RefusesWrongTypes) {
  EXPECT_THAT(Complaint("[1]"), HasSubstr(": [1] is no object {...}"));
  EXPECT_THAT(Complaint(R"({"mechanism": 3, "inputs": {}})"),
              HasSubstr(": mechanism: 3 is no text"));
  EXPECT_THAT(Complaint(R"({"mechanism": "soft", "inputs": []})"),
              HasSubstr(": inputs: [] is no object {...}"));
  EXPECT_THAT(Complaint(R"({"mechanism": "soft", "inputs": {}, "options": 1})"),
              HasSubstr(": options: 1 is no object {...}"));
  EXPECT_THAT(Complaint(Mocha(R"("p_choose": 1)")),
              HasSubstr(": inputs.p_choose: is number, must be a list"));
  EXPECT_THAT(Complaint(Mocha(R"("p_choose": [[1], 1])")),
              HasSubstr(": inputs.p_choose: row 2: is number, must be a list"));
}

TEST_F(CaseFileTest, NamesRowAndColumnOfAWrongNumber) {
  for (const char* value : {"null", "\"1\"", "true", "[1]"}) {
    EXPECT_THAT(Complaint(Mocha(std::string(R"("energies": [[1, 2], [3, )") +
                                value + "]]")),
                HasSubstr(": inputs.energies: row 2, column 2: "))
        << value;
  }
  EXPECT_THAT(Complaint(Mocha(R"("p_choose": [[0, 1.5]])")),
              HasSubstr(": inputs.p_choose: row 1, column 2: 1.5 is not a "
                        "probability in [0, 1]"));
  EXPECT_THAT(Complaint(Mocha(R"("p_choose": [[-1e-9]])")),
              HasSubstr("row 1, column 1: -1e-09 is not a probability"));
}

TEST_F(CaseFileTest, RefusesShapesThatDoNotFit) {
  EXPECT_THAT(Complaint(Mocha(R"("p_choose": [[0, 1], [1]])")),
              HasSubstr(": inputs.p_choose: row 2: has 1 numbers, the rows "
                        "before it 2"));
  EXPECT_THAT(Complaint(Mocha(R"("p_choose": [])")), HasSubstr("is empty"));
  EXPECT_THAT(Complaint(Mocha(R"("p_choose": [[]])")),
              HasSubstr("row 1: is empty"));
  EXPECT_THAT(
      Complaint(Mocha(R"("p_choose": [[0, 1]], "memory": [[1], [2], [3]])")),
      HasSubstr(": inputs.memory: has 3 rows, but T is 2 by inputs.p_choose"));
  EXPECT_THAT(
      Complaint(
          Mocha(R"("p_choose": [[0, 1]], "chunk_energies": [[1, 2], [3, 4]])")),
      HasSubstr("has 2 rows, but U is 1 by inputs.p_choose"));
  EXPECT_THAT(Complaint(Mocha(R"("memory": [[1]], "states": [[1, 2]])")),
              HasSubstr("has 2 columns, but d is 1 by inputs.memory"));
}

TEST_F(CaseFileTest, RefusesInputsThatAreMissingOrTooMany) {
  EXPECT_THAT(Complaint(Mocha(R"("chunk_energies": [[1]])")),
              HasSubstr("has chunk_energies without p_choose or energies"));
  EXPECT_THAT(Complaint(Mocha(R"("p_choose": [[1]])")),
              HasSubstr("chunk_energies of mocha is missing"));
  EXPECT_THAT(Complaint(Mocha(R"("p_choose": [[1]], "energies": [[1]])")),
              HasSubstr("has p_choose and energies; give one of them"));
  EXPECT_THAT(Complaint(R"({"mechanism": "memory",
                    "inputs": {"encoder_scores": [[1]]}})"),
              HasSubstr("has encoder_scores without decoder_scores"));
  EXPECT_THAT(Complaint(R"({"mechanism": "soft", "inputs":
                            {"energies": [[1]], "chunk_energies": [[1]]}})"),
              HasSubstr(": inputs.chunk_energies: soft does not take it; it "
                        "takes: energies"));
  EXPECT_THAT(Complaint(R"({"mechanism": "soft",
                            "inputs": {"p_choose": [[1]]}})"),
              HasSubstr("energies of soft is missing"));
}

}  // namespace
}  // namespace attnbench
