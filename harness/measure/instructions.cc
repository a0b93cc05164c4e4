#include "harness/measure/instructions.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "harness/base/error.h"

// Callgrind finds it by its symbol, which a program keeps that is stripped of
// others, and which has no form that compilers of C++ write in their own ways.
extern "C" {
[[gnu::noinline, gnu::visibility("default")]] void AttnbenchCountedTrial(
    const std::function<void()>& trial);
void AttnbenchCountedTrial(const std::function<void()>& trial) {
  trial();
  asm volatile("");  // a last call would become a jump, which is no return
}
}

// Stands in for Highway's function of this name, which its library calls when a
// program starts, and which nothing here needs: that reads the time by rdtscp,
// and valgrind ends a program that does so on a CPU that does not announce it.
namespace hwy::platform {
[[gnu::visibility("default")]] std::uint64_t TimerResolution();
std::uint64_t TimerResolution() { return 1; }
}  // namespace hwy::platform

namespace attnbench {
namespace {

constexpr char kCounted[] = "AttnbenchCountedTrial";

// A call through a pointer that may change is neither inlined nor of a clone,
// which would have another symbol.
void (*volatile counted_trial)(const std::function<void()>&) =
    AttnbenchCountedTrial;

// The sum in a file of callgrind's; 0 where it has none.
double SummaryOf(const std::string& path) {
  constexpr std::string_view kSummary = "summary: ";
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kSummary)) continue;
    return std::strtod(line.c_str() + kSummary.size(), nullptr);
  }
  return 0;
}

}  // namespace

std::vector<std::string> UnderCallgrind(const std::string& counts,
                                        std::vector<std::string> program) {
  std::vector<std::string> command = {
      "/usr/bin/env",
      // OpenBLAS chooses kernels that valgrind can run, if nobody tells it.
      "--unset=OPENBLAS_CORETYPE", "valgrind",
      "--command-line-only=yes",  // a user's own options may count otherwise
      "--quiet", "--tool=callgrind", "--collect-atstart=no",
      fmt::format("--toggle-collect={}", kCounted),
      fmt::format("--dump-after={}", kCounted),
      "--callgrind-out-file=" + counts};
  command.insert(command.end(), std::make_move_iterator(program.begin()),
                 std::make_move_iterator(program.end()));
  return command;
}

double InstructionCounter::Count(const std::function<void()>& trial) {
  counted_trial(trial);
  const std::string path = fmt::format("{}.{}", counts_, ++number_);
  const double count = SummaryOf(path);
  std::remove(path.c_str());
  if (count > 0) return count;
  throw UserError(
      "--measure instructions",
      fmt::format("valgrind counted no instruction of {}", kCounted));
}

}  // namespace attnbench
