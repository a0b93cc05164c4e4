#include "harness/commands/sweep_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "harness/answers/table.h"
#include "harness/base/exit_code.h"
#include "harness/base/printable.h"
#include "harness/machine/validity.h"

namespace attnbench {
namespace {

// As many as a screen or two hold.
constexpr std::size_t kMostRows = 60;

}  // namespace

std::string ResultText(const SweepResult& result, const std::string& path) {
  std::map<std::string, std::size_t> number;
  for (const ResultCell& cell : result.cells) {
    ++number[NameOf(cell.status)];
  }
  std::vector<std::string> counts;
  for (const auto& [status, count] : number) {
    counts.push_back(fmt::format("{} {}", count, status));
  }
  return fmt::format("{}: {} ({}), {}", path,
                     Counted(result.cells.size(), "cell"),
                     fmt::join(counts, ", "), ValidityLines(result.context));
}

int PrintResult(const SweepResult& result, const std::string& path) {
  CellTable table;
  AddRows(result, path, table);
  std::cout << PrintableLines(TableText(table, kMostRows) +
                              ResultText(result, path));
  const std::vector<ResultCell>& cells = result.cells;
  const bool all_are_skipped =
      std::ranges::all_of(cells, [](const ResultCell& cell) {
        return cell.status == CellStatus::kSkipped;
      });
  if (!cells.empty() && all_are_skipped) {
    std::cerr << fmt::format(
        "attnbench: every cell was skipped; the first: {}\n",
        Printable(Shortened(cells[0].message.value_or("-"))));
    return kFailed;
  }
  const auto has_failed = [](const ResultCell& cell) {
    return IsFailure(cell.status);
  };
  const auto first = std::ranges::find_if(cells, has_failed);
  if (first == cells.end()) return kGood;
  std::cerr << fmt::format("attnbench: {} of {} cells failed; the first: {}\n",
                           std::ranges::count_if(cells, has_failed),
                           cells.size(),
                           Printable(first->mechanism + ": " +
                                     Shortened(first->message.value_or("-"))));
  return kFailed;
}

}  // namespace attnbench
