// Guards against settings that do not fit each other, or that one program takes
// and the other refuses.
#include "harness/training/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/json_file.h"
#include "tests/support/error_text.h"

namespace attnbench {
namespace {

using ::testing::HasSubstr;

// What attnbench train refuses; a checkpoint may have none of it either.
TEST(TrainingSettings, AreRefusedByNameWhereTheyCannotBeTrained) {
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

}  // namespace
}  // namespace attnbench
