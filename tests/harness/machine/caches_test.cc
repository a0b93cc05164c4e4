// Guards against a cache whose size or sharing is not the system's, and against
// a share of it that is not a thread's.
#include "harness/machine/caches.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace attnbench {
namespace {

std::vector<std::string> TextsOf(const std::vector<Cache>& caches) {
  std::vector<std::string> texts;
  for (const Cache& cache : caches) texts.push_back(CacheText(cache));
  return texts;
}

TEST(Caches, AreThoseOfTheFirstCpuNearestFirst) {
  const std::vector<Cache> caches = ReadCaches(
      "l3:2(size=8388608) core:4 l1d:1(size=49152) l1i:1(size=32768) pu:2");
  EXPECT_EQ(TextsOf(caches),
            (std::vector<std::string>{"L1 Data 48K", "L1 Instruction 32K",
                                      "L3 Unified 8192K"}));
  EXPECT_EQ(caches.at(0).sharing_cpus, 2);
  EXPECT_EQ(caches.at(1).sharing_cpus, 2);
  EXPECT_EQ(caches.at(2).sharing_cpus, 8);
}

TEST(Caches, ThatTheMachineDoesNotTellAreNone) {
  EXPECT_TRUE(ReadCaches("core:2 pu:2").empty());
  EXPECT_TRUE(ReadCaches("no machine").empty());
}

// The system lists the same caches as files.
TEST(Caches, OfThisMachineAreThoseThatTheSystemLists) {
  std::vector<std::string> listed;
  for (int index = 0;; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" +
                               std::to_string(index) + "/";
    std::string level, holds, size;
    if (!(std::ifstream(folder + "level") >> level) ||
        !(std::ifstream(folder + "type") >> holds) ||
        !(std::ifstream(folder + "size") >> size)) {
      break;
    }
    listed.push_back("L" + level + " " + holds + " " + size);
  }
  EXPECT_EQ(TextsOf(ReadCaches()), listed);
}

TEST(ShareBytes, IsWhatEachThreadHasWhenTheyAreSpread) {
  const Cache own{.level = 2, .size_bytes = 1000, .sharing_cpus = 1};
  const Cache shared{.level = 3, .size_bytes = 1000, .sharing_cpus = 4};
  const Cache of_siblings{.level = 1, .size_bytes = 64, .sharing_cpus = 2};
  EXPECT_EQ(ShareBytes(own, 8, 8), 1000);
  EXPECT_EQ(ShareBytes(own, 16, 8), 500);
  EXPECT_EQ(ShareBytes(shared, 1, 8), 1000);
  EXPECT_EQ(ShareBytes(shared, 2, 8), 1000);
  EXPECT_EQ(ShareBytes(shared, 3, 8), 500);
  EXPECT_EQ(ShareBytes(shared, 8, 8), 250);
  EXPECT_EQ(ShareBytes(of_siblings, 4, 8), 64);
  EXPECT_EQ(ShareBytes(of_siblings, 8, 8), 32);
}

}  // namespace
}  // namespace attnbench
