// Guards against a machine that was busy in the middle of a run and is quiet at
// its end, and against a run that takes its own threads, or those of a run
// before it, for other programs.
#include "harness/machine/load_watch.h"

#include <gtest/gtest.h>

namespace attnbench {
namespace {

// A machine that is as busy as the test says.
class Machine {
 public:
  explicit Machine(LoadWatch& watch) : watch_(watch) { Pass(0, 0, 0); }

  // Lets time pass in which this many CPUs work, some of them for the run.
  void Pass(double seconds, double busy, double own) {
    now_.at_s += seconds;
    now_.busy_s += seconds * busy;
    now_.own_s += seconds * own;
    watch_.Add(now_);
  }

 private:
  LoadWatch& watch_;
  // The machine, and this program, were busy long before the run.
  CpuTimes now_ = {.at_s = 1000, .busy_s = 16'000, .own_s = 100};
};

TEST(LoadWatch, TellsTheStartFromWhatCameLater) {
  LoadWatch watch;
  Machine machine(watch);
  EXPECT_FALSE(watch.at_start().has_value());
  machine.Pass(0.5, 2.5, 0);
  EXPECT_EQ(watch.at_start(), 2.5);
  EXPECT_FALSE(watch.worst().has_value());
  machine.Pass(10, 3, 2);
  EXPECT_EQ(watch.at_start(), 2.5);
  EXPECT_EQ(watch.worst(), 1.0);
}

TEST(LoadWatch, KeepsTheWorstPointWhateverCameAfter) {
  LoadWatch watch;
  Machine machine(watch);
  machine.Pass(0.5, 0, 0);
  machine.Pass(60, 2, 2);
  EXPECT_EQ(watch.worst(), 0.0);
  machine.Pass(1, 9.5, 2);
  machine.Pass(3600, 2.25, 2);
  EXPECT_EQ(watch.worst(), 7.5);
}

TEST(LoadWatch, APointOfManyThreadsHidesNoOtherPrograms) {
  LoadWatch watch;
  Machine machine(watch);
  machine.Pass(0.5, 0, 0);
  machine.Pass(60, 8, 8);
  machine.Pass(60, 7, 1);
  EXPECT_EQ(watch.worst(), 6.0);
}

TEST(LoadWatch, AShortPointIsLookedAtWithWhatWasBeforeIt) {
  LoadWatch watch;
  Machine machine(watch);
  machine.Pass(0.5, 0, 0);
  // The system's clock steps like this.
  machine.Pass(0.01, 4, 1);
  EXPECT_EQ(watch.worst(), 0.06);  // 0.03 / 0.51
  // Many such steps are counted together: that step and 0.49 s, over half a
  // second.
  for (int n = 0; n < 100; ++n) machine.Pass(0.01, 3, 1);
  EXPECT_EQ(watch.worst(), 2.02);
}

TEST(LoadWatch, WhatACounterLosesIsNoLoad) {
  LoadWatch watch;
  Machine machine(watch);
  machine.Pass(0.5, 0, 0);
  machine.Pass(1, 0.99, 1);
  EXPECT_EQ(watch.worst(), 0.0);
  // A killed child's time is nobody's.
  machine.Pass(1, 1, -50);
  EXPECT_EQ(watch.worst(), 1.0);
}

TEST(LoadWatch, AClockThatStandsStillTellsNoLoad) {
  LoadWatch watch;
  watch.Add(CpuTimes{.at_s = 1, .busy_s = 1, .own_s = 0});
  watch.Add(CpuTimes{.at_s = 1, .busy_s = 2, .own_s = 0});
  EXPECT_EQ(watch.at_start(), 0);
}

TEST(LoadWatch, WhatIsNotKnownIsNoLoad) {
  LoadWatch watch;
  for (int n = 0; n < 3; ++n) watch.Add(std::nullopt);
  EXPECT_FALSE(watch.at_start().has_value());
  EXPECT_FALSE(watch.worst().has_value());
}

TEST(LoadWatch, ARunOfThisMachineHasBoth) {
  Context context;
  LoadWatch watch = BeginWatch(context);
  EXPECT_EQ(context.load, watch.at_start());
  LookAgain(watch, {}, context);
  EXPECT_EQ(context.load_end, watch.worst());
  EXPECT_EQ(context.load.has_value(), ReadCpuTimes().has_value());
  EXPECT_EQ(context.load_end.has_value(), ReadCpuTimes().has_value());
}

TEST(LookAgain, JudgesTheContextByLoadAndClock) {
  Context context;
  LoadWatch watch;
  LookAgain(watch,
            {{.point = "p", .samples_ns = {1}, .median_ns = 1, .deviation = 1}},
            context);
  EXPECT_FALSE(context.valid);
  EXPECT_NE(context.invalid_reasons.back().find("point p"), std::string::npos);
}

}  // namespace
}  // namespace attnbench
