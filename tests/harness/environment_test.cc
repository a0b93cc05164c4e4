// Guards against results that do not say what they were measured with.
#include "harness/environment.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <regex>

namespace attnbench {
namespace {

TEST(Context, HasTheKeysOfTheFormatInTheirOrder) {
  std::vector<std::string> keys;
  const Json context = MakeContext("attnbench x", 7);
  for (const auto& [key, value] : context.items()) {
    keys.push_back(key);
  }
  EXPECT_THAT(keys, ::testing::ElementsAre(
                        "commit", "dirty", "build_id", "command", "date",
                        "seed", "compiler", "flags", "build_type", "cpu",
                        "caches", "cores", "governor", "load", "simd", "openmp",
                        "libraries", "valid", "invalid_reasons", "warnings"));
}

TEST(Context, SaysWhatWasAskedForAndWhen) {
  const Json context = MakeContext("attnbench run-sweep -o 'a b'", 7);
  EXPECT_EQ(context["command"], "attnbench run-sweep -o 'a b'");
  EXPECT_EQ(context["seed"], 7);
  EXPECT_TRUE(
      std::regex_match(context["date"].get<std::string>(),
                       std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")));
  EXPECT_FALSE(context["simd"].get<std::string>().empty());
  EXPECT_GE(context["cores"].get<int>(), 1);
}

TEST(Context, IsInvalidExactlyWhereItSaysWhy) {
  const Json context = MakeContext("", 1);
  const auto build_type = context["build_type"].get<std::string>();
  if (build_type == "Debug") {
    EXPECT_FALSE(context["valid"].get<bool>());
  }
  if (build_type == "Release") {
    EXPECT_TRUE(context["valid"].get<bool>());
  }
  EXPECT_TRUE(context["valid"].get<bool>() !=
              !context["invalid_reasons"].empty());
}

TEST(Fnv1a, GivesThePublishedHashes) {
  const auto hash = [](std::string_view text) {
    Fnv1a fnv;
    fnv.Add(text);
    return fnv.hash();
  };
  EXPECT_EQ(hash(""), 0xcbf29ce484222325);
  EXPECT_EQ(hash("a"), 0xaf63dc4c8601ec8c);
  EXPECT_EQ(hash("foobar"), 0x85944171f73967e8);
}

TEST(BuildId, IsSixteenDigitsAndStays) {
  EXPECT_TRUE(std::regex_match(BuildId(), std::regex("[0-9a-f]{16}")));
  EXPECT_EQ(BuildId(), BuildId());
  std::ifstream program("/proc/self/exe", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(program), {}};
  ASSERT_FALSE(bytes.empty());
  Fnv1a fnv;
  fnv.Add(bytes);
  EXPECT_EQ(BuildId(), fmt::format("{:016x}", fnv.hash()));
}

TEST(AvailableMemory, IsPositive) { EXPECT_GT(AvailableMemoryBytes(), 0); }

}  // namespace
}  // namespace attnbench
