#include "harness/system/cpu_times.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace attnbench {
namespace {

// The sum of the next `count` numbers, without the first `num_left_out`.
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

// The ticks of a process and all of its descendants, from what the system tells
// of all processes. A process that has just ended is not among them: its time
// counts for its parent, which has waited for it.
std::int64_t TicksOfFamily(pid_t first) {
  namespace fs = std::filesystem;
  std::multimap<std::int64_t, std::pair<pid_t, std::int64_t>> by_parent;
  std::int64_t ticks = 0;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto process = ParseProcess(ReadableText(entry->path() / "stat"));
    if (!process) continue;
    const auto id = static_cast<pid_t>(std::stol(name));
    if (id == first) ticks = process->ticks;
    by_parent.emplace(process->parent, std::pair(id, process->ticks));
  }
  std::vector<std::int64_t> family = {first};
  for (std::size_t i = 0; i < family.size(); ++i) {
    const auto [begin, end] = by_parent.equal_range(family[i]);
    for (auto child = begin; child != end; ++child) {
      ticks += child->second.second;
      family.push_back(child->second.first);
    }
  }
  return ticks;
}

}  // namespace

std::string ReadableText(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  // Iterators over the file's buffer would throw if reading fails.
  std::getline(file, text, '\0');
  return text;
}

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

std::optional<ProcessTimes> ParseProcess(std::string_view text) {
  // The second field is the program's name in brackets, which may contain
  // anything.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  std::istringstream in{std::string(text.substr(name_end + 1))};
  std::string state;
  std::int64_t parent = 0;
  in >> state >> parent;
  // Fields 5 to 17, of which 14 to 17 are utime, stime, cutime and cstime.
  const auto ticks = SumOf(in, 13, /*num_left_out=*/9);
  if (!ticks) return std::nullopt;
  return ProcessTimes{.parent = parent, .ticks = *ticks};
}

std::optional<CpuTimes> ReadCpuTimes() {
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
      .own_s = static_cast<double>(TicksOfFamily(getpid())) / per_second};
}

}  // namespace attnbench
