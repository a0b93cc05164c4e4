#include "harness/commands/sweep_output.h"

#include <fmt/format.h>

#include <iostream>
#include <map>
#include <optional>
#include <vector>

#include "harness/exit_code.h"
#include "harness/validity.h"

namespace attnbench {

int Summarize(const Json& document, const std::string& path) {
  const Json& cells = document.at("cells");
  std::map<std::string, std::size_t> number;
  std::optional<std::string> first_failure;
  for (const Json& cell : cells) {
    const auto status = cell.at("status").get<std::string>();
    ++number[status];
    if (status == "ok" || status == "skipped" || first_failure) continue;
    first_failure =
        fmt::format("{}: {}", cell.at("mechanism").get<std::string>(),
                    AxisValueText(cell.at("message")));
  }
  std::vector<std::string> counts;
  for (const auto& [status, count] : number) {
    counts.push_back(fmt::format("{} {}", count, status));
  }
  std::cout << fmt::format("{}: {} cells ({}), {}\n", path, cells.size(),
                           fmt::join(counts, ", "),
                           ValidityText(document.at("context")));
  for (const Json& warning : document.at("context").at("warnings")) {
    std::cout << "  warning: " << warning.get<std::string>() << "\n";
  }
  if (!cells.empty() && number["skipped"] == cells.size()) {
    std::cerr << fmt::format(
        "attnbench: every cell was skipped; the first: {}\n",
        AxisValueText(cells[0].at("message")));
    return kFailed;
  }
  if (!first_failure) return kGood;
  std::cerr << fmt::format("attnbench: {} of {} cells failed; the first: {}\n",
                           cells.size() - number["ok"] - number["skipped"],
                           cells.size(), *first_failure);
  return kFailed;
}

}  // namespace attnbench
