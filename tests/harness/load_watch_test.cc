// Guards against a machine that was busy in the middle of a run and is quiet at
// its end, and against a run that takes its own threads for other programs.
#include "harness/load_watch.h"

#include <gtest/gtest.h>

namespace attnbench {
namespace {

constexpr double kLong = 3600;  // s, until nothing is left of what was before

double OfOthers(const LoadWatch& watch) {
  return watch.load().get<double>() - watch.own_load();
}

TEST(LoadWatch, KeepsTheWorstPointWhateverCameAfter) {
  LoadWatch watch;
  watch.Add(kLong, 2, 2.0);
  EXPECT_NEAR(OfOthers(watch), 0, 1e-9);
  watch.Add(kLong, 2, 9.5);
  watch.Add(kLong, 2, 2.25);
  EXPECT_EQ(watch.load(), 9.5);
  EXPECT_NEAR(OfOthers(watch), 7.5, 1e-9);
}

TEST(LoadWatch, APointOfManyThreadsHidesNoOtherPrograms) {
  LoadWatch watch;
  watch.Add(kLong, 8, 8.0);
  watch.Add(kLong, 1, 7.0);
  EXPECT_EQ(watch.load(), 7.0);
  EXPECT_NEAR(OfOthers(watch), 6, 1e-9);
}

TEST(LoadWatch, WhatAPointLeavesInTheLoadIsOurs) {
  LoadWatch watch;
  watch.Add(kLong, 8, 8.0);
  // A minute on one thread: 1 + 7 / e.
  watch.Add(60, 1, 3.575);
  EXPECT_NEAR(OfOthers(watch), 0, 1e-3);
  // Nobody was there before us, and a second makes no load of 8.
  LoadWatch of_a_moment;
  of_a_moment.Add(1, 8, 8.0);
  EXPECT_GT(OfOthers(of_a_moment), 7);
}

TEST(LoadWatch, WhatIsNotKnownIsNoLoad) {
  LoadWatch watch;
  watch.Add(kLong, 1, nullptr);
  EXPECT_TRUE(watch.load().is_null());
  watch.Add(kLong, 1, 0.5);
  watch.Add(kLong, 1, nullptr);
  EXPECT_EQ(watch.load(), 0.5);
}

}  // namespace
}  // namespace attnbench
