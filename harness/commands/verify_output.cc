#include "harness/commands/verify_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <tuple>
#include <utility>

#include "harness/exit_code.h"

namespace attnbench {
namespace {

constexpr std::size_t kMostFailuresShown = 10;

// One line of the table: a quantity of a mechanism over all cases of a method.
struct Row {
  std::size_t cases = 0;
  std::int64_t comparisons = 0;
  double worst = 0;  // p-value, or the largest error
  double detectable = 0;
  bool passed = true;
  ChiSquare chi_square;
};

// Mechanism, method, what was compared, whether exactly.
using RowKey = std::tuple<std::string, std::string, std::string, bool>;

std::vector<std::pair<RowKey, Row>> RowsOf(
    const std::vector<CaseReport>& reports) {
  std::vector<std::pair<RowKey, Row>> rows;
  for (const CaseReport& report : reports) {
    for (const Quantity& quantity : report.quantities) {
      const RowKey key(report.verify_case.mechanism,
                       MethodName(report.verify_case.method), quantity.what(),
                       quantity.exact());
      auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) {
        return row.first == key;
      });
      if (found == rows.end()) {
        found = rows.insert(found, {key, Row{}});
        found->second.worst = quantity.exact() ? 0 : 1;
      }
      Row& row = found->second;
      ++row.cases;
      row.comparisons += quantity.comparisons();
      row.worst = quantity.exact()
                      ? std::max(row.worst, quantity.largest_error())
                      : std::min(row.worst, quantity.worst().p_value);
      row.detectable = std::max(row.detectable, quantity.detectable());
      row.passed = row.passed && quantity.passed();
      if (quantity.what() == "selection" && report.chi_square.has_value()) {
        row.chi_square.statistic += report.chi_square->statistic;
        row.chi_square.terms += report.chi_square->terms;
      }
    }
  }
  return rows;
}

}  // namespace

void PrintVerifyTable(const std::vector<CaseReport>& reports,
                      const VerifyRun& run, std::optional<double> seconds) {
  std::cout << fmt::format(
      "{:<11} {:<12} {:<34} {:>6} {:>12} {:>14} {:>11}  {}\n", "mechanism",
      "method", "compared", "cases", "comparisons", "worst", "detectable",
      "verdict");
  for (const auto& [key, row] : RowsOf(reports)) {
    const auto& [mechanism, method, what, exact] = key;
    std::cout << fmt::format(
        "{:<11} {:<12} {:<34} {:>6} {:>12} {:>14} {:>11.2g}  {}", mechanism,
        method, what, row.cases, row.comparisons,
        fmt::format("{} {:.2g}", exact ? "error" : "p", row.worst),
        row.detectable, row.passed ? "passed" : "FAILED");
    if (row.chi_square.terms > 0) {
      std::cout << fmt::format(
          "  (chi-square {:.0f} over {} terms, no part of the verdict)",
          row.chi_square.statistic, row.chi_square.terms);
    }
    std::cout << '\n';
  }
  const VerifyTotals totals = TotalsOf(reports);
  std::cout << fmt::format(
      "{} cases, {} comparisons, {} of them by up to {} trials: {}; "
      "false-alarm rate {:.2g}{}\n",
      reports.size(), totals.comparisons, totals.sampled, run.trials,
      totals.failed_cases == 0
          ? "all passed"
          : fmt::format("{} cases FAILED", totals.failed_cases),
      run.false_alarm_rate, seconds ? fmt::format(", {:.0f} s", *seconds) : "");
}

int VerifyExitCode(const std::vector<CaseReport>& reports) {
  const VerifyTotals totals = TotalsOf(reports);
  if (totals.failed_cases == 0) return 0;
  std::size_t shown = 0;
  for (const CaseReport& report : reports) {
    if (report.passed() || ++shown > kMostFailuresShown) continue;
    std::cerr << fmt::format("failed: {}\n", report.Text());
  }
  std::cerr << fmt::format("attnbench: {} of {} cases failed; the worst: {}\n",
                           totals.failed_cases, reports.size(),
                           reports[totals.worst_case].Text());
  return kFailed;
}

}  // namespace attnbench
