// Guards against idle time that counts as busy, and against a run whose own
// processes pass for other programs.
#include "harness/system/cpu_times.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>

namespace attnbench {
namespace {

TEST(CpuTimes, WaitingIsNotBusyAndWhatAHypervisorTookIs) {
  //                 user nice system idle iowait irq softirq steal guest
  EXPECT_EQ(BusyTicks("cpu  1000 200 30 77777 8888 4 5 60000 999 99"),
            1000 + 200 + 30 + 4 + 5 + 60000);
  EXPECT_EQ(BusyTicks("cpu0 1 2 3 4 5 6 7 8 9 10"), std::nullopt);
  EXPECT_EQ(BusyTicks("cpu  1 2 3 4 5 6 7"), std::nullopt);
  EXPECT_EQ(BusyTicks(""), std::nullopt);
}

TEST(CpuTimes, AProcessIsKnownWhateverItIsCalled) {
  const auto process = ParseProcess(
      "12 (a b) c) 1 2) S 4 5 6 7 8 9 10 11 12 13 1000 200 30 4 18 19");
  ASSERT_TRUE(process.has_value());
  EXPECT_EQ(process->parent, 4);
  EXPECT_EQ(process->ticks, 1234);
  EXPECT_FALSE(ParseProcess("12 (short) S 4 5").has_value());
  EXPECT_FALSE(ParseProcess("").has_value());
}

TEST(CpuTimes, WhatFailsToBeReadIsNoText) {
  EXPECT_EQ(ReadableText("/proc/0/stat"), "");
  EXPECT_EQ(ReadableText("/proc"), "");  // opens, but reading it is an error
  EXPECT_TRUE(ParseProcess(ReadableText("/proc/self/stat")).has_value());
}

constexpr double kWork = 0.2;

// Works until the process has used some CPU time.
void Work() {
  const auto own = [] {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) +
           1e-9 * static_cast<double>(now.tv_nsec);
  };
  const double begin = own();
  while (own() - begin < kWork) {
  }
}

// The system counts in steps of 10 ms, for user and system time each.
void ExpectOwnWork(const CpuTimes& before) {
  const std::optional<CpuTimes> after = ReadCpuTimes();
  ASSERT_TRUE(after.has_value());
  EXPECT_GE(after->own_s - before.own_s, kWork - 0.03);
  EXPECT_GT(after->at_s, before.at_s);
  EXPECT_GE(after->busy_s, before.busy_s);
}

TEST(CpuTimes, OwnIsWhatThisProcessAndItsChildrenHad) {
  const std::optional<CpuTimes> begin = ReadCpuTimes();
  ASSERT_TRUE(begin.has_value());
  Work();
  ExpectOwnWork(*begin);

  const CpuTimes before_child = ReadCpuTimes().value();
  int ready[2] = {};
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Work();
    [[maybe_unused]] const ssize_t written = write(ready[1], "", 1);
    while (true) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ExpectOwnWork(before_child);  // the child is alive
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  ExpectOwnWork(before_child);  // the child was waited for
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace attnbench
