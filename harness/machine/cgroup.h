// Tells how much of the machine a container or batch system lets this program
// have. Control groups limit memory and CPU time below what /proc tells of the
// machine, and kill or stop a program that believes /proc. Both versions of the
// interface are read; every group from the program's own up to the root counts.
#ifndef ATTNBENCH_HARNESS_MACHINE_CGROUP_H_
#define ATTNBENCH_HARNESS_MACHINE_CGROUP_H_

#include <optional>
#include <string>

#include "mechanisms/common/array.h"

namespace attnbench {

// The smallest limits of all groups; nothing where none limits it.
struct CgroupLimits {
  std::optional<double> cpus;              // in seconds of CPU time a second
  std::optional<Index> memory_bytes;       // for all programs together
  std::optional<Index> memory_left_bytes;  // of that, what is still free; what
                                           // the kernel caches of files and can
                                           // drop is free
};

// `membership` is the file /proc/self/cgroup, `mount` the folder where control
// groups are mounted. What cannot be read limits nothing.
CgroupLimits ReadCgroupLimits(
    const std::string& membership = "/proc/self/cgroup",
    const std::string& mount = "/sys/fs/cgroup");

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_CGROUP_H_
