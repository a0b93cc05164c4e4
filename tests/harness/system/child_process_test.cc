// Guards against a child that makes this program wait busily, or that stays
// when it is gone.
#include "harness/system/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <utility>

#include "tests/support/error_text.h"

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

TEST(ChildProcess, OneThatClosedItsOutputAndStaysIsNotSaidToHaveBeenKilled) {
  ChildProcess child(Shell("exec >&-; sleep 100"));
  EXPECT_EQ(child.ReadLine(Soon()), std::nullopt);
  EXPECT_EQ(child.Stop().Text(), "did not end by itself within 2 s");
}

TEST(ChildProcess, ErrorsWithoutEndDoNotOutlastTheLimit) {
  ChildProcess child(Shell("yes >&2 & yes >&2"));
  EXPECT_EQ(child.ReadLine(ChildProcess::Clock::now() +
                           std::chrono::milliseconds(200)),
            std::nullopt);
  EXPECT_FALSE(child.HasEnded());
  child.Kill();
  child.Stop();
  EXPECT_EQ(child.LastWords(), "y");
}

TEST(ChildProcess, AProgramThatCannotBeStartedIsAnErrorAndNoProcess) {
  for (const auto& [program, why] :
       {std::pair("/no/such/program", "No such file or directory"),
        std::pair("/etc/passwd", "Permission denied")}) {
    EXPECT_EQ(
        testing::ErrorText([&p = program] {
          ChildProcess({.arguments = {p}, .environment = EnvironmentWith({})});
        }),
        std::string("a process: could not be started: ") + program + ": " +
            why);
  }
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
