// Reads how much time the machine's CPUs have worked, and how much of that for
// this program. The difference of two readings says what other programs did
// between them, however busy the machine was before.
#ifndef ATTNBENCH_HARNESS_SYSTEM_CPU_TIMES_H_
#define ATTNBENCH_HARNESS_SYSTEM_CPU_TIMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attnbench {

struct CpuTimes {
  double at_s = 0;    // by a clock that never goes back
  double busy_s = 0;  // of all CPUs together, for all programs
  double own_s = 0;   // of this process and all of its descendants
};

// Reads the times now; nothing without a /proc/stat, as on other systems than
// Linux. The system counts in steps of mostly 10 ms a CPU, so readings should
// be half a second apart.
std::optional<CpuTimes> ReadCpuTimes();

// The busy ticks of all CPUs in the first line of /proc/stat: everything but
// `idle` and `iowait`, so that what a hypervisor took (`steal`) counts as work
// for others. `guest` is in `user` already.
std::optional<std::int64_t> BusyTicks(std::string_view line);

struct ProcessTimes {
  std::int64_t parent = 0;  // the parent's id
  std::int64_t ticks = 0;   // its own, and of children that it has waited for
};
// The text of a file. It is empty if the file is not there or cannot be read,
// such as that of a process that ends meanwhile.
std::string ReadableText(const std::string& path);

// Reads the text of a /proc/PID/stat.
std::optional<ProcessTimes> ParseProcess(std::string_view text);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SYSTEM_CPU_TIMES_H_
