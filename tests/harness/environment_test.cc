// Guards against results that do not say what they were measured with.
#include "harness/environment.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/personality.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "harness/cpus.h"

namespace attnbench {
namespace {

TEST(Context, HasTheKeysOfTheFormatInTheirOrder) {
  std::vector<std::string> keys;
  const Json context = MakeContext("attnbench x", 7);
  for (const auto& [key, value] : context.items()) {
    keys.push_back(key);
  }
  EXPECT_THAT(keys,
              ::testing::ElementsAre(
                  "commit", "dirty", "build_id", "command", "date", "seed",
                  "compiler", "flags", "build_type", "cpu", "caches", "cores",
                  "affinity", "memory_bytes", "kernel", "governor", "turbo",
                  "aslr", "load", "load_end", "simd", "openmp", "libraries",
                  "valid", "invalid_reasons", "warnings"));
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

TEST(Context, OfABuildWithoutOptimisationIsInvalid) {
  const Json context = MakeContext("", 1);
  const auto build_type = context["build_type"].get<std::string>();
  const std::string reasons = context["invalid_reasons"].dump();
  EXPECT_EQ(build_type == "Debug",
            reasons.find("optimisation") != std::string::npos);
  EXPECT_EQ(context["valid"].get<bool>(), context["invalid_reasons"].empty());
}

// Of this machine, as other programs tell it.
TEST(Context, SaysWhatTheMachineIsAndWhatTheProgramMayUse) {
  const Json context = MakeContext("", 1);
  std::ifstream release("/proc/sys/kernel/osrelease");
  std::string kernel;
  std::getline(release, kernel);
  EXPECT_EQ(context["kernel"], kernel);
  ASSERT_TRUE(context["affinity"].is_string());
  EXPECT_LE(context["cores"].get<int>(),
            CountCpus(context["affinity"].get<std::string>()));
  EXPECT_GT(context["memory_bytes"].get<Index>(), 1 << 20);
  EXPECT_GE(context["memory_bytes"].get<Index>(), AvailableMemoryBytes());
  EXPECT_TRUE(context["load_end"].is_null());
}

TEST(Context, SaysWhetherAddressesAreLaidOutAtRandom) {
  const int before = personality(0xffffffff);
  ASSERT_GE(before, 0);
  const auto persona = static_cast<unsigned long>(before);
  std::ifstream file("/proc/sys/kernel/randomize_va_space");
  int of_system = -1;
  file >> of_system;
  const bool is_off = (persona & ADDR_NO_RANDOMIZE) != 0;
  EXPECT_EQ(MakeContext("", 1)["aslr"], is_off ? 0 : of_system);
  // Where a container forbids to switch it off, it stays as it is.
  const bool switched = personality(persona | ADDR_NO_RANDOMIZE) >= 0;
  EXPECT_EQ(MakeContext("", 1)["aslr"], switched || is_off ? 0 : of_system);
  ASSERT_TRUE(!switched || personality(persona) >= 0);
}

TEST(Context, AMaskOfOneCpuIsOneCore) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  const std::vector<int> allowed = AllowedCpus();
  ASSERT_FALSE(allowed.empty());
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(allowed.back()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  const Json context = MakeContext("", 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(context["cores"], 1);
  EXPECT_EQ(context["affinity"], std::to_string(allowed.back()));
}

TEST(Context, IsJudgedAgainAtTheEnd) {
  Json context = MakeContext("", 1);
  context["calibration"] = Json::parse(
      R"([{"point": "p", "samples_ns": [1], "median_ns": 1,
           "deviation": 0.5}])");
  FinishContext(0.25, context);
  EXPECT_EQ(context["load_end"], 0.25);
  EXPECT_FALSE(context["valid"].get<bool>());
  EXPECT_NE(context["invalid_reasons"].dump().find("point p"),
            std::string::npos);
}

TEST(Context, IsJudgedByTheLoadOfOthersThatItIsTold) {
  Json context = MakeContext("", 1);
  EXPECT_TRUE(context["load"].is_null());
  FinishContext(MachineCores(), context);
  EXPECT_NE(context["invalid_reasons"].dump().find("while it measured"),
            std::string::npos);
  FinishContext(0, context);
  EXPECT_EQ(context["invalid_reasons"].dump().find("while it measured"),
            std::string::npos);
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
