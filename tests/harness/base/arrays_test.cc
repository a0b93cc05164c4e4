// Guards against arrays that lie in the same way in every process.
#include "harness/base/arrays.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace attnbench {
namespace {

std::vector<std::size_t> Gaps(std::uint32_t process) {
  ArrayGaps gaps{.seed = 7, .process = process};
  std::vector<std::size_t> bytes;
  for (int array = 0; array < 1000; ++array) bytes.push_back(gaps.NextBytes());
  return bytes;
}

TEST(ArrayGaps, AreCacheLinesUpToAPage) {
  const std::vector<std::size_t> gaps = Gaps(0);
  const std::set<std::size_t> different(gaps.begin(), gaps.end());
  EXPECT_EQ(different.size(), 64U);
  EXPECT_EQ(*different.rbegin(), 63U * 64);
  for (const std::size_t bytes : gaps) EXPECT_EQ(bytes % 64, 0U);
}

TEST(ArrayGaps, AreEachProcesssOwnAndAlwaysTheSame) {
  EXPECT_EQ(Gaps(3), Gaps(3));
  EXPECT_NE(Gaps(3), Gaps(4));
}

TEST(ArrayGaps, LeaveArraysAlignedAndWhole) {
  ArrayGaps gaps{.seed = 7, .process = 1};
  for (int array = 0; array < 100; ++array) {
    Array<float> numbers(17, 1.0F, &gaps);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(numbers.data()) % 64, 0U);
    numbers.resize(1000, 2.0F);
    EXPECT_EQ(numbers[16], 1.0F);
    EXPECT_EQ(numbers[999], 2.0F);
  }
  EXPECT_EQ(gaps.count, 200U);
}

TEST(ArrayGaps, AreOnlyWhereTheyAreAskedFor) {
  ArrayGaps gaps{.seed = 7};
  Array<float> with(&gaps);
  const Array<float> without(1000);
  with = without;
  EXPECT_EQ(gaps.count, 1U);
  const Array<float> moved = std::move(with);
  EXPECT_EQ(gaps.count, 1U);
  EXPECT_EQ(moved, without);
}

}  // namespace
}  // namespace attnbench
