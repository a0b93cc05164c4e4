#include "harness/commands/sweep_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "harness/base/exit_code.h"
#include "harness/base/printable.h"
#include "harness/machine/validity.h"

namespace attnbench {

int TellResult(const SweepResult& result, const std::string& path) {
  const std::vector<ResultCell>& cells = result.cells;
  std::map<std::string, std::size_t> number;
  std::size_t num_failed = 0;
  std::string first_failure;
  for (const ResultCell& cell : cells) {
    ++number[StatusName(cell.status)];
    if (!IsFailure(cell.status)) continue;
    if (num_failed++ > 0) continue;
    first_failure = cell.mechanism + ": " + cell.message.value_or("-");
  }
  std::vector<std::string> counts;
  for (const auto& [status, count] : number) {
    counts.push_back(fmt::format("{} {}", count, status));
  }
  std::string text =
      fmt::format("{}: {} cells ({}), {}\n", path, cells.size(),
                  fmt::join(counts, ", "), ValidityText(result.context));
  for (const std::string& warning : result.context.warnings) {
    text += "  warning: " + warning + "\n";
  }
  std::cout << PrintableLines(text);
  const bool all_are_skipped =
      std::ranges::all_of(cells, [](const ResultCell& cell) {
        return cell.status == CellStatus::kSkipped;
      });
  if (!cells.empty() && all_are_skipped) {
    std::cerr << fmt::format(
        "attnbench: every cell was skipped; the first: {}\n",
        Printable(cells[0].message.value_or("-")));
    return kFailed;
  }
  if (num_failed == 0) return kGood;
  std::cerr << fmt::format("attnbench: {} of {} cells failed; the first: {}\n",
                           num_failed, cells.size(), Printable(first_failure));
  return kFailed;
}

}  // namespace attnbench
