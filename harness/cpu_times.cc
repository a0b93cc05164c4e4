#include "harness/cpu_times.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace attnbench {
namespace {

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The sum of the next `count` numbers, but for the first `num_left_out`.
std::optional<std::int64_t> SumOf(std::istream& in, int count,
                                  int num_left_out = 0) {
  std::int64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    std::int64_t number = 0;
    if (!(in >> number)) return std::nullopt;
    if (i >= num_left_out) sum += number;
  }
  return sum;
}

// Of a process with all that it has started and they have. One that has just
// ended is none: its time is its parent's, who has waited for it.
std::int64_t TicksOfFamily(const std::string& process) {
  namespace fs = std::filesystem;
  const std::string folder = "/proc/" + process;
  std::int64_t ticks = ProcessTicks(TextOf(folder + "/stat")).value_or(0);
  std::error_code error;
  for (fs::directory_iterator task(folder + "/task", error), end;
       !error && task != end; task.increment(error)) {
    std::ifstream children(task->path() / "children");
    for (std::string child; children >> child;) ticks += TicksOfFamily(child);
  }
  return ticks;
}

}  // namespace

std::optional<std::int64_t> BusyTicks(std::string_view line) {
  std::istringstream in{std::string(line)};
  std::string name;
  in >> name;
  if (name != "cpu") return std::nullopt;
  const auto user_nice_system = SumOf(in, 3);
  const auto irq_softirq_steal = SumOf(in, 5, /*num_left_out=*/2);
  if (!user_nice_system || !irq_softirq_steal) return std::nullopt;
  return *user_nice_system + *irq_softirq_steal;
}

std::optional<std::int64_t> ProcessTicks(std::string_view text) {
  // The second field is the program's name in brackets, whatever is in it.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  std::istringstream in{std::string(text.substr(name_end + 1))};
  std::string state;
  in >> state;
  // Fields 4 to 17, of which 14 to 17 are utime, stime, cutime and cstime.
  return SumOf(in, 14, /*num_left_out=*/10);
}

std::optional<CpuTimes> ReadCpuTimes() {
  const std::string own = std::to_string(getpid());
  // Linux may be built without it; then children would pass for others.
  if (!std::filesystem::exists(
          fmt::format("/proc/{}/task/{}/children", own, own))) {
    return std::nullopt;
  }
  std::ifstream file("/proc/stat");
  std::string line;
  std::getline(file, line);
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const std::optional<std::int64_t> busy = BusyTicks(line);
  if (!busy) return std::nullopt;
  const auto per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  return CpuTimes{
      .at_s = std::chrono::duration<double>(now).count(),
      .busy_s = static_cast<double>(*busy) / per_second,
      .own_s = static_cast<double>(TicksOfFamily(own)) / per_second};
}

}  // namespace attnbench
