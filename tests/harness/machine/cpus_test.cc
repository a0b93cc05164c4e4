// Guards against a list of CPUs that is written one short.
#include "harness/machine/cpus.h"

#include <gtest/gtest.h>

namespace attnbench {
namespace {

TEST(Cpus, AreListedAsRanges) {
  EXPECT_EQ(CpuListText({}), "");
  EXPECT_EQ(CpuListText(std::vector<int>{3}), "3");
  EXPECT_EQ(CpuListText(std::vector<int>{0, 1}), "0-1");
  EXPECT_EQ(CpuListText(std::vector<int>{0, 2, 3, 4, 9}), "0,2-4,9");
}

TEST(Cpus, OfTheMachineAreNoFewerThanThoseAllowed) {
  EXPECT_GE(MachineCores(), 1);
  EXPECT_GE(static_cast<std::size_t>(MachineCores()), AllowedCpus().size());
}

}  // namespace
}  // namespace attnbench
