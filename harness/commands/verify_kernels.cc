#include "harness/commands/verify_kernels.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "harness/base/exit_code.h"
#include "harness/campaign/progress.h"
#include "harness/machine/environment.h"
#include "harness/system/result_file.h"
#include "harness/verify/kernel_errors.h"

namespace attnbench {
namespace {

constexpr double kQuickEffort = 0.05;

// Prints a line for each result of a kernel: its largest error beside the
// bound, over all levels and families.
void PrintKernelTable(const std::vector<KernelError>& rows, double seconds) {
  std::cout << fmt::format(
      "{:<26} {:<29} {:<4} {:>8} {:>8}  {:<7} {:<12} {:<7} {}\n", "kernel",
      "result", "", "error", "bound", "verdict", "worst family", "level",
      "unit");
  std::vector<const KernelError*> worst;
  std::size_t failed = 0;
  const auto ratio = [](const KernelError& row) {
    return row.error.value_or(std::numeric_limits<double>::infinity()) /
           row.bound;
  };
  for (const KernelError& row : rows) {
    failed += row.verdict == "failed" ? 1 : 0;
    const auto same = std::ranges::find_if(worst, [&](const auto* other) {
      return std::tie(other->kernel, other->what, other->precision) ==
             std::tie(row.kernel, row.what, row.precision);
    });
    if (same == worst.end()) {
      worst.push_back(&row);
    } else if (ratio(row) > ratio(**same)) {
      *same = &row;
    }
  }
  for (const KernelError* row : worst) {
    std::cout << fmt::format(
        "{:<26} {:<29} {:<4} {:>8} {:>8.3g}  {:<7} {:<12} {:<7} {}\n",
        row->kernel, row->what, NameOf(row->precision),
        row->error ? fmt::format("{:.3g}", *row->error) : "not finite",
        row->bound, row->verdict == "passed" ? "passed" : "FAILED", row->family,
        row->level, row->unit);
  }
  std::cout << fmt::format("{} errors of {} results of kernels: {}; {:.0f} s\n",
                           rows.size(), worst.size(),
                           failed == 0 ? "all within their bounds"
                                       : fmt::format("{} FAILED", failed),
                           seconds);
}

}  // namespace

int VerifyKernels(const VerifyKernelsArguments& arguments,
                  const std::string& command_line) {
  const KernelErrorOptions options = {
      .seed = arguments.seed,
      .threads = arguments.threads,
      .effort = arguments.quick ? kQuickEffort : 1};
  std::optional<ResultFile> file;
  if (!arguments.output.empty())
    file.emplace(arguments.output, arguments.force);
  KernelErrorsResult result = {
      .context = MakeContext(command_line, options.seed),
      .quick = arguments.quick};
  CountProgress progress("verify", "kernels", /*tells_time=*/false, stderr,
                         isatty(STDERR_FILENO) == 1);
  result.rows =
      MeasureKernelErrors(options, [&](std::size_t finished, std::size_t all) {
        progress.Tell(finished, all);
      });
  const auto failed = std::ranges::find(result.rows, std::string("failed"),
                                        &KernelError::verdict);
  result.verdict = failed == result.rows.end() ? "passed" : "failed";
  if (file.has_value() || arguments.json) {
    const Json document = ToJson(result);
    if (file.has_value()) file->Write(document);
    if (arguments.json) std::cout << JsonText(document);
  }
  if (!arguments.json) PrintKernelTable(result.rows, progress.Seconds());
  if (failed == result.rows.end()) return 0;
  std::cerr << fmt::format(
      "attnbench: {} of {} {} errs beyond its bound at level {} (family {})\n",
      failed->what, failed->kernel, NameOf(failed->precision), failed->level,
      failed->family);
  return kFailed;
}

}  // namespace attnbench
