// Guards against memory that is not counted, or a limit that leaves the counts
// wrong: `peak_memory_bytes` of a result is exact.
#include "mechanisms/common/array.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "mechanisms/common/joined_rows.h"

namespace attnbench {
namespace {

class ArrayTest : public ::testing::Test {
 protected:
  void SetUp() override { ThreadMemoryUse() = {}; }
  void TearDown() override {
    SetAllocationLimit(std::numeric_limits<Index>::max());
  }
};

TEST_F(ArrayTest, CountsCurrentAndPeakBytes) {
  {
    const Buffer<double> a(10);
    EXPECT_EQ(ThreadMemoryUse().current_bytes, 80);
    { const Buffer<float> b(5); }
    EXPECT_EQ(ThreadMemoryUse().current_bytes, 80);
    EXPECT_EQ(ThreadMemoryUse().peak_bytes, 100);
    const Buffer<char> c(1);  // below the peak, which stays
    EXPECT_EQ(ThreadMemoryUse().peak_bytes, 100);
  }
  EXPECT_EQ(ThreadMemoryUse().current_bytes, 0);
  EXPECT_EQ(ThreadMemoryUse().peak_bytes, 100);
}

TEST_F(ArrayTest, ThreadsAreCountedApart) {
  Index seen_by_thread = -1;
  std::thread([&] {
    const Buffer<char> a(1000);
    seen_by_thread = ThreadMemoryUse().peak_bytes;
  }).join();
  EXPECT_EQ(seen_by_thread, 1000);
  EXPECT_EQ(ThreadMemoryUse().peak_bytes, 0);
}

TEST_F(ArrayTest, BuffersBeginOnACacheLine) {
  for (const std::size_t size : {1u, 3u, 100u, 5000u}) {
    const Buffer<char> buffer(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u);
  }
}

TEST_F(ArrayTest, ARequestOverTheLimitThrowsAndLeavesTheCounts) {
  SetAllocationLimit(1000);
  const Buffer<char> a(600);
  EXPECT_THROW(Buffer<char>(401), std::bad_alloc);
  EXPECT_THROW(Buffer<char>(5000), std::bad_alloc);
  EXPECT_EQ(ThreadMemoryUse().current_bytes, 600);
  EXPECT_EQ(ThreadMemoryUse().peak_bytes, 600);
  EXPECT_NO_THROW(Buffer<char>(400));
}

// A thread of its own has kept nothing before, and keeps nothing for others.
template <class Body>
void OnAThreadThatKeeps(const Body& body) {
  KeepFreedArrays();
  std::thread(body).join();
}

TEST_F(ArrayTest, WhatATrialFreesIsWhatTheNextOneGets) {
  OnAThreadThatKeeps([] {
    const void* first = nullptr;
    for (std::size_t trial = 0; trial < 10; ++trial) {
      // What is asked for in between would take the place from malloc.
      const Buffer<char> between(50'000 + trial);
      const UnsetBuffer<char> table(1'000'000);
      if (trial == 0) first = table.data();
      EXPECT_EQ(table.data(), first);
      EXPECT_EQ(ThreadMemoryUse().peak_bytes,
                static_cast<Index>(1'050'000 + trial));
    }
    EXPECT_EQ(ThreadMemoryUse().current_bytes, 0);
  });
}

TEST_F(ArrayTest, ArraysAtOnceAreDifferentOnes) {
  OnAThreadThatKeeps([] {
    for (int trial = 0; trial < 3; ++trial) {
      const UnsetBuffer<char> a(10'000), b(10'000), c(20'000);
      EXPECT_NE(a.data(), b.data());
      EXPECT_EQ(KeptBytes(), 0);
    }
    EXPECT_EQ(KeptBytes(), 40'000);
    ReleaseKeptArrays();
    EXPECT_EQ(KeptBytes(), 0);
  });
}

TEST_F(ArrayTest, WhatIsKeptLeavesRoomForOtherArrays) {
  OnAThreadThatKeeps([] {
    SetAllocationLimit(100'000);
    { const Buffer<char> a(90'000); }
    EXPECT_EQ(KeptBytes(), 90'000);
    { const Buffer<char> b(10'000); }
    EXPECT_EQ(KeptBytes(), 100'000);
    EXPECT_NO_THROW(Buffer<char>(95'000));
    EXPECT_EQ(KeptBytes(), 95'000);
    EXPECT_THROW(Buffer<char>(100'001), std::bad_alloc);
  });
}

TEST_F(ArrayTest, ManySizesAreNotAllKept) {
  OnAThreadThatKeeps([] {
    Index most = 0;
    for (std::size_t size = 5000; size < 7000; ++size) {
      { const Buffer<char> a(size); }
      most = std::max(most, KeptBytes());
    }
    EXPECT_LT(most, 300 * 7000);
    EXPECT_GT(most, 200 * 5000);
  });
}

TEST_F(ArrayTest, ASizeThatOverflowsThrows) {
  Allocator<double> allocator;
  EXPECT_THROW(allocator.allocate(std::numeric_limits<std::size_t>::max() / 4),
               std::bad_alloc);
  EXPECT_EQ(ThreadMemoryUse().current_bytes, 0);
}

TEST(MatrixViewTest, FindsElementsByItsStride) {
  const std::vector<int> values = {0, 1, 2, 3, 4, 5, 6, 7};
  const MatrixView<const int> rows(values.data(), 2, 3, 4);
  EXPECT_EQ(rows(1, 2), 6);
  EXPECT_EQ(rows.Row(1)[0], 4);
  EXPECT_EQ(rows.Row(1).size(), 3u);
  EXPECT_EQ(rows.Rows(1, 1)(0, 1), 5);
}

TEST(JoinedRowsTest, JoinsRowsThatFollowEachOther) {
  const std::vector<float> values(30);
  const MatrixView<const float> all(values.data(), 6, 4, 5);
  JoinedRows<float> joined;
  joined.Append(all.Rows(0, 0));
  joined.Append(all.Rows(0, 2));
  joined.Append(all.Rows(2, 0));
  joined.Append(all.Rows(2, 4));
  EXPECT_EQ(joined.all().data, values.data());
  EXPECT_EQ(joined.all().rows, 6);
  EXPECT_EQ(joined.all().row_stride, 5);
}

TEST(JoinedRowsDeathTest, RowsFromElsewhereAreABug) {
  const std::vector<float> values(30);
  const MatrixView<const float> all(values.data(), 6, 5);
  JoinedRows<float> joined;
  joined.Append(all.Rows(0, 2));
  EXPECT_DEATH(joined.Append(all.Rows(3, 1)), "check failed");
}

}  // namespace
}  // namespace attnbench
