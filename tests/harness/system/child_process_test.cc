// Guards against a child that makes this program wait busily, or that stays
// when it is gone.
#include "harness/system/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

namespace attnbench {
namespace {

ChildProcess::Clock::time_point Soon() {
  return ChildProcess::Clock::now() + std::chrono::seconds(60);
}

ChildProcess::Command Shell(const std::string& script) {
  return {.arguments = {"/bin/sh", "-c", script},
          .environment = EnvironmentWith({})};
}

TEST(ChildProcess, WaitingForOneThatClosedItsErrorsTakesNoProcessor) {
  ChildProcess child(Shell("exec 2>&-; sleep 1; echo done"));
  const std::clock_t before = std::clock();
  EXPECT_EQ(child.ReadLine(Soon()), "done");
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 2);
}

TEST(ChildProcess, WhatItSaidBeforeItClosedItsErrorsIsKept) {
  ChildProcess child(Shell("echo why >&2; exec 2>&-; sleep 0.2; exit 3"));
  EXPECT_EQ(child.ReadLine(Soon()), std::nullopt);
  EXPECT_TRUE(child.HasEnded());
  EXPECT_EQ(child.Stop().Text(), "ended with status 3");
  EXPECT_EQ(child.LastWords(), "why");
}

TEST(Shown, IsWhatADocumentCanHold) {
  EXPECT_EQ(Shown("a\xff\x1b"), "a\ufffd?");
  EXPECT_EQ(
      Shown(std::string(201, 'a')),
      std::string(100, 'a') + "...(201 characters)..." + std::string(100, 'a'));
  EXPECT_EQ(Shown(std::string(200, 'a')), std::string(200, 'a'));
}

}  // namespace
}  // namespace attnbench
