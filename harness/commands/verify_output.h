// How a verification is told to people: by `verify`, and by `merge` of its
// shards.
#ifndef ATTNBENCH_HARNESS_COMMANDS_VERIFY_OUTPUT_H_
#define ATTNBENCH_HARNESS_COMMANDS_VERIFY_OUTPUT_H_

#include <optional>
#include <vector>

#include "harness/verify_report.h"

namespace attnbench {

// A line for each mechanism, method and array, and one about the whole, on
// standard output.
void PrintVerifyTable(const std::vector<CaseReport>& reports,
                      const VerifyRun& run, std::optional<double> seconds);

// 1 where a case failed; then says which on standard error.
int VerifyExitCode(const std::vector<CaseReport>& reports);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_COMMANDS_VERIFY_OUTPUT_H_
