// Guards against settings that do not fit each other, or that one program takes
// and the other refuses.
#include "harness/training/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/json_file.h"
#include "tests/support/error_text.h"
#include "tests/support/schema.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;

// What attnbench train refuses and a checkpoint may not have, either.
TEST(TrainingSettings, AreRefusedByNameWhereTheyMakeNoModel) {
  const Json cases = ReadJsonFile("tests/train/refused.json");
  const Place file("e.json"), list(file, "alternatives");
  const Place first(list, std::size_t{0}), place(first, "settings");
  const auto error = [&](const Json& settings) {
    return testing::ErrorText([&] {
      CheckSettings(FromJson<TrainingSettings>(settings, place), place);
    });
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

// attnbench train has its defaults from there.
TEST(TrainingSettings, HaveTheDefaultsThatTheSchemaOfExperimentsStates) {
  Json stated = Json::object();
  const Json schema = Json::parse(testing::SchemaFile("training_experiment"));
  for (const auto& [name, about] :
       schema["properties"]["settings"]["properties"].items()) {
    if (about.contains("default")) stated[name] = about["default"];
  }
  EXPECT_EQ(stated, ToJson(TrainingSettings()));
}

}  // namespace
}  // namespace attnbench
