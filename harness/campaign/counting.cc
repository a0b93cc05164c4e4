#include "harness/campaign/counting.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "harness/base/error.h"
#include "harness/measure/instructions.h"
#include "harness/system/child_process.h"
#include "harness/system/source_tree.h"
#include "harness/system/temporary_folder.h"

namespace attnbench {
namespace {

constexpr char kOption[] = "--measure instructions";

std::string ValgrindVersion() {
  constexpr std::chrono::seconds kLimit{20};
  constexpr std::string_view kName = "valgrind-";
  ChildProcess process({.arguments = {"/usr/bin/env", "valgrind", "--version"},
                        .environment = EnvironmentWith({})});
  const auto line = process.ReadLine(ChildProcess::Clock::now() + kLimit);
  process.Stop();
  if (!line || !line->starts_with(kName)) {
    throw UserError(kOption,
                    fmt::format("needs valgrind (apt-get install valgrind): {}",
                                line ? Shown(*line) : process.LastWords()));
  }
  return Shown(line->substr(kName.size()));
}

}  // namespace

Callgrind FindCallgrind() {
  const std::string version = ValgrindVersion();
  const TemporaryFolder folder;
  const std::string program = ProgramPath().string();
  const Context there =
      ContextOf(UnderCallgrind(folder.path() + "/counts", {program}),
                program + " under valgrind " + version, kDefaultCellLimit);
  return {version, there.simd};
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
