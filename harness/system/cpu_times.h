// How much time the machine's CPUs have worked, and how much of that for this
// program: what two readings differ by says what other programs did between
// them, however busy the machine was before.
#ifndef ATTNBENCH_HARNESS_SYSTEM_CPU_TIMES_H_
#define ATTNBENCH_HARNESS_SYSTEM_CPU_TIMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attnbench {

struct CpuTimes {
  double at_s = 0;    // of a clock that never goes back
  double busy_s = 0;  // of all CPUs together, whoever they worked for
  double own_s = 0;   // of this process and everybody that it has started
};

// Now; nothing where there is no /proc/stat, so not on Linux. The system counts
// in steps of mostly 10 ms a CPU: readings should be half a second apart.
std::optional<CpuTimes> ReadCpuTimes();

// Its parts. The first line of /proc/stat, in ticks of all CPUs: everything but
// `idle` and `iowait`, so that what a hypervisor took (`steal`) is time in
// which they worked for others. `guest` is in `user` already.
std::optional<std::int64_t> BusyTicks(std::string_view line);

struct ProcessTimes {
  std::int64_t parent = 0;  // its id
  std::int64_t ticks = 0;   // own, and of children that it has waited for
};
// What can be read of a file. Empty where it is not there or cannot be read, as
// that of a process that ends meanwhile.
std::string ReadableText(const std::string& path);

// Of the text of a /proc/PID/stat.
std::optional<ProcessTimes> ParseProcess(std::string_view text);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SYSTEM_CPU_TIMES_H_
