// Guards against a program in a container that takes the machine's memory and
// cores for its own: it is killed, or stopped in the middle of what it times.
#include "harness/machine/cgroup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/system/temporary_folder.h"

namespace attnbench {
namespace {

namespace fs = std::filesystem;

class Cgroup : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) const {
    const fs::path file = root_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  CgroupLimits Read(const std::string& membership) const {
    Write("membership", membership);
    return ReadCgroupLimits(root_ / "membership", root_ / "mount");
  }

 private:
  const TemporaryFolder temporary_;
  const fs::path root_ = temporary_.path();
};

TEST_F(Cgroup, WithoutGroupsNothingIsLimited) {
  for (const char* membership : {"", "0::/\n", "nonsense\n4:memory\n::\n"}) {
    const CgroupLimits limits = Read(membership);
    EXPECT_FALSE(limits.cpus) << membership;
    EXPECT_FALSE(limits.memory_bytes) << membership;
    EXPECT_FALSE(limits.memory_left_bytes) << membership;
  }
}

TEST_F(Cgroup, InVersion2TheLeastOfAllGroupsAboveCounts) {
  Write("mount/a/b/memory.max", "max\n");
  Write("mount/a/memory.max", "1000\n");
  Write("mount/a/memory.current", "700\n");
  Write("mount/a/memory.stat", "anon 1\ninactive_file 200\n");
  Write("mount/a/b/cpu.max", "150000 100000\n");
  Write("mount/a/cpu.max", "max 100000\n");
  const CgroupLimits limits = Read("0::/a/b\n");
  EXPECT_EQ(limits.memory_bytes, 1000);
  EXPECT_EQ(limits.memory_left_bytes, 1000 - (700 - 200));
  EXPECT_EQ(limits.cpus, 1.5);
}

TEST_F(Cgroup, InAContainerTheFolderOfTheMountCounts) {
  Write("mount/memory.max", "4096\n");
  Write("mount/memory.current", "5000\n");
  Write("mount/cpu.max", "300000 100000\n");
  const CgroupLimits limits = Read("0::/../host/name\n");
  EXPECT_EQ(limits.memory_bytes, 4096);
  EXPECT_EQ(limits.memory_left_bytes, 0);
  EXPECT_EQ(limits.cpus, 3);
}

TEST_F(Cgroup, Version1HasAFolderForEachControllersAndMinusOneForNoLimit) {
  Write("mount/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("mount/memory/job/memory.limit_in_bytes", "8000\n");
  Write("mount/memory/job/memory.usage_in_bytes", "3000\n");
  Write("mount/memory/job/memory.stat", "total_inactive_file 500\n");
  Write("mount/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  Write("mount/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  Write("mount/cpu,cpuacct/job/cpu.cfs_quota_us", "200000\n");
  Write("mount/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  const CgroupLimits limits =
      Read("4:memory:/job\n3:cpuset:/job\n1:cpu,cpuacct:/job\n0::/\n");
  EXPECT_EQ(limits.memory_bytes, 8000);
  EXPECT_EQ(limits.memory_left_bytes, 8000 - (3000 - 500));
  EXPECT_EQ(limits.cpus, 2);
}

}  // namespace
}  // namespace attnbench
