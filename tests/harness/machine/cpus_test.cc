// Guards against a list of CPUs that is written one short, and against results
// from Arm that do not say on which processor.
#include "harness/machine/cpus.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace attnbench {
namespace {

TEST(Cpus, AreListedAsRanges) {
  EXPECT_EQ(CpuListText({}), "");
  EXPECT_EQ(CpuListText(std::vector<int>{3}), "3");
  EXPECT_EQ(CpuListText(std::vector<int>{0, 1}), "0-1");
  EXPECT_EQ(CpuListText(std::vector<int>{0, 2, 3, 4, 9}), "0,2-4,9");
}

std::string NameIn(const std::string& cpuinfo) {
  std::istringstream text(cpuinfo);
  return CpuName(text);
}

TEST(Cpus, HaveTheNameThatTheKernelGives) {
  EXPECT_EQ(NameIn("processor\t: 0\nmodel name\t: A: B @ 2.50GHz\n"
                   "processor\t: 1\nmodel name\t: C\n"),
            "A: B @ 2.50GHz");
}

TEST(Cpus, OfArmAreEachKindOfCoreOnce) {
  std::ifstream file("tests/support/arm_cpuinfo.txt");
  EXPECT_EQ(CpuName(file),
            "implementer 0x41 part 0xd03, implementer 0x41 part 0xd08");
}

TEST(Cpus, WithoutANameAreUnknown) {
  EXPECT_EQ(NameIn(""), "unknown");
  EXPECT_EQ(NameIn("model name\t: \nCPU part\n"), "unknown");
}

TEST(Cpus, OfTheMachineAreNoFewerThanThoseAllowed) {
  EXPECT_GE(MachineCores(), 1);
  EXPECT_GE(static_cast<std::size_t>(MachineCores()), AllowedCpus().size());
}

}  // namespace
}  // namespace attnbench
