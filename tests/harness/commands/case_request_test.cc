// Guards against a mechanism that reads an array of a case file which it does
// not declare, and against a malformed case file that is taken, or refused
// without its place.
#include "harness/commands/case_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "harness/base/json.h"
#include "harness/commands/commands.h"
#include "harness/system/temporary_folder.h"
#include "tests/support/error_text.h"

namespace attnbench {
namespace {

// The number of rows of the chunk keys that the mechanism gets.
Index ChunkKeys(const std::string& mechanism) {
  CaseFile file;
  file.mechanism = mechanism;
  for (const char* input : {"memory", "states", "chunk_keys"}) {
    file.inputs[input] = Table<double>(3, 2);
  }
  const CaseSequence arrays(file, 1);
  return arrays.sequence().inputs.further.Find("chunk_keys").rows;
}

TEST(CaseSequence, HasOnlyTheInputsThatItsMechanismDeclares) {
  EXPECT_EQ(ChunkKeys("mocha"), 3);
  EXPECT_EQ(ChunkKeys("monotonic"), 0);
}

// Expects that `attnbench COMMAND`, for each command, refuses a case file of
// this text in one line that begins with the path and has `said`.
void ExpectRefused(const std::string& text, const std::string& said,
                   const std::vector<std::string>& commands) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/case.json";
  std::ofstream(path, std::ios::binary) << text;
  for (const std::string& command : commands) {
    CLI::App app;
    Command run;
    AddDecode(app, run);
    AddExpect(app, run);
    app.parse(std::vector<std::string>{path, command});  // the last one first
    const std::string message = testing::ErrorText(run);
    EXPECT_TRUE(message.starts_with(path + ": ")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_THAT(message, ::testing::HasSubstr(said)) << command << text;
  }
}

// A row of the table has `text`, a list of files, or a value in place of each
// in `is`, at the place `at` of a base that is a good case.
std::vector<std::string> TextsOf(const Json& row, const Json& bases) {
  if (row.contains("text")) return row["text"];
  std::vector<std::string> texts;
  for (const Json& value : row.at("is")) {
    Json document = bases.at(row.at("of").get<std::string>());
    document[Json::json_pointer(row.at("at").get<std::string>())] = value;
    texts.push_back(document.dump());
  }
  return texts;
}

TEST(MalformedCases, AreRefusedInOneLineThatNamesThePlace) {
  const Json table =
      Json::parse(std::ifstream("tests/harness/commands/malformed_cases.json"));
  for (const Json& row : table.at("cases")) {
    const auto commands =
        row.value("commands", std::vector<std::string>{"decode", "expect"});
    for (const std::string& text : TextsOf(row, table.at("bases"))) {
      ExpectRefused(text, row.at("says"), commands);
    }
  }
}

// No JSON can have these bytes.
TEST(MalformedCases, OfOtherBytesThanUtf8AreRefused) {
  const std::vector<std::string> commands = {"decode", "expect"};
  ExpectRefused({"\x7f\x45LF\0\xff\n\x1b[1m", 10}, "is not JSON", commands);
  for (const char* text : {"{\"p_ch\xc3(ose\": 1}", "{\"a\": \"mo\xff\"}"}) {
    ExpectRefused(text, "ill-formed UTF-8 byte", commands);
  }
}

}  // namespace
}  // namespace attnbench
