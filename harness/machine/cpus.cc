#include "harness/machine/cpus.h"

#include <fmt/format.h>
#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <istream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "harness/base/error.h"

namespace attnbench {

std::string CpuName(std::istream& cpuinfo) {
  std::string implementer;
  std::vector<std::string> kinds;
  for (std::string line; std::getline(cpuinfo, line);) {
    const std::size_t end = line.find(": ");
    if (end == std::string::npos) continue;
    const std::string value = line.substr(end + 2);
    if (line.starts_with("model name") && !value.empty()) return value;
    if (line.starts_with("CPU implementer")) implementer = value;
    if (!line.starts_with("CPU part")) continue;
    std::string kind =
        fmt::format("implementer {} part {}", implementer, value);
    if (std::ranges::find(kinds, kind) == kinds.end()) {
      kinds.push_back(std::move(kind));
    }
  }
  return kinds.empty() ? "unknown" : fmt::format("{}", fmt::join(kinds, ", "));
}

int MachineCores() {
  return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

std::vector<int> AllowedCpus() {
  // The system refuses a mask that is too small for the machine.
  constexpr int kMostCpus = 1 << 16;
  cpu_set_t* const mask = CPU_ALLOC(kMostCpus);
  const std::size_t size = CPU_ALLOC_SIZE(kMostCpus);
  std::vector<int> cpus;
  if (mask != nullptr && sched_getaffinity(0, size, mask) == 0) {
    for (int cpu = 0; cpu < kMostCpus; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size, mask)) {
        cpus.push_back(cpu);
      }
    }
  }
  CPU_FREE(mask);
  return cpus;
}

std::string CpuListText(std::span<const int> cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    const std::size_t first = i;
    while (i + 1 < cpus.size() && cpus[i + 1] == cpus[i] + 1) ++i;
    text += fmt::format("{}{}", text.empty() ? "" : ",", cpus[first]);
    if (i > first) text += fmt::format("-{}", cpus[i]);
  }
  return text;
}

void CheckThreads(int threads) {
  if (omp_get_thread_limit() < threads) {
    throw UserError("--threads",
                    fmt::format("{} threads are asked for, OMP_THREAD_LIMIT "
                                "allows {}",
                                threads, omp_get_thread_limit()));
  }
  // OpenMP itself would end the program.
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  std::vector<std::jthread> others;
  std::string why;
  try {
    while (std::ssize(others) < threads - 1) {
      others.emplace_back([ended] { ended.wait(); });
    }
  } catch (const std::system_error& error) {
    why = error.what();
  }
  end.set_value();
  if (why.empty()) return;
  throw UserError("--threads",
                  fmt::format("the system gives {} of {} threads: {}",
                              others.size() + 1, threads, why));
}

}  // namespace attnbench
