#include "harness/campaign/counting.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/campaign/worker.h"
#include "harness/measure/instructions.h"
#include "harness/system/child_process.h"
#include "harness/system/source_tree.h"
#include "harness/system/temporary_folder.h"
#include "mechanisms/kernels/kernels.h"

namespace attnbench {
namespace {

constexpr char kOption[] = "--measure instructions";

std::string ValgrindVersion() {
  constexpr std::chrono::seconds kLimit{20};
  constexpr std::string_view kName = "valgrind-";
  ChildProcess process({.arguments = {"/usr/bin/env", "valgrind", "--version"},
                        .environment = EnvironmentWith({})});
  const auto line = process.ReadLine(ChildProcess::Clock::now() + kLimit);
  const bool is_late = !line && !process.HasEnded();
  if (is_late) process.Kill();
  process.Stop();
  if (!line || !line->starts_with(kName)) {
    throw UserError(kOption,
                    fmt::format("needs valgrind (apt-get install valgrind): {}",
                                line      ? Shown(*line)
                                : is_late ? "it does not answer"
                                          : process.LastWords()));
  }
  return Shown(line->substr(kName.size()));
}

// Sets the variable; says whether it had another value.
bool Changes(const char* variable, const std::string& value) {
  const char* const before = std::getenv(variable);
  if (before != nullptr && before == value) return false;
  setenv(variable, value.c_str(), 1);
  return true;
}

[[noreturn]] void BecomeThisProgramAnew() {
  std::vector<std::string> arguments;
  std::ifstream line("/proc/self/cmdline");
  for (std::string one; std::getline(line, one, '\0');) {
    arguments.push_back(one);
  }
  execv("/proc/self/exe", Pointers(arguments).data());
  throw UserError(kOption, fmt::format("cannot start this program anew: {}",
                                       std::strerror(errno)));
}

}  // namespace

std::string PrepareCounting() {
  std::string version = ValgrindVersion();
  Context there;
  {
    const TemporaryFolder folder;
    const std::string counts = folder.path() + "/counts";
    there = ContextOf(
        UnderCallgrind(counts, {ProgramPath().string(), kWorkerCommand,
                                kDescribe, kCounts, counts}),
        kOption, "cannot run this program under valgrind " + version,
        kDefaultCellLimit);
  }
  const auto& loaded = there.loaded.value();
  const auto blas = loaded.find("blas");
  bool is_other =
      there.simd != SimdName() && Changes("ATTNBENCH_SIMD", there.simd);
  if (blas != loaded.end() && blas->second.core) {
    is_other |= Changes("OPENBLAS_CORETYPE", *blas->second.core);
  }
  if (is_other) BecomeThisProgramAnew();
  return version;
}

void CheckThatItCounts(const std::string& counts) {
  InstructionCounter(counts).Count([] {});
}

void CheckOneThread(const Sweep& sweep) {
  for (const Point& point : sweep.points) {
    for (const Cell& cell : point.cells) {
      if (cell.skip_reason || cell.Int("threads") == 1) continue;
      throw UserError(kOption,
                      fmt::format("counts those of one thread, and {} has {}; "
                                  "give --threads 1",
                                  cell.mechanism, cell.Int("threads")));
    }
  }
}

bool AddInstructions(Measurer& counter, std::size_t index,
                     const std::function<void(double)>& tick,
                     MeasuredPoint& measured) {
  // Of a process after the first only cells that are `ok` are measured.
  auto counted = counter.Measure(index, /*process=*/1, measured.cells, tick);
  if (!counted) return false;
  auto given = counted->cells.begin();
  for (ResultCell& cell : measured.cells) {
    if (!cell.is_ok()) continue;
    if (given->is_ok()) {
      cell.instructions = given->instructions;
    } else {
      given->message = "under callgrind: " + given->message.value_or("");
      cell = std::move(*given);
    }
    ++given;
  }
  return true;
}

}  // namespace attnbench
