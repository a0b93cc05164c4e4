// Tells people a result of a sweep, for `run-sweep`, for `merge` of its shards
// and for `show`.
#ifndef ATTNBENCH_HARNESS_COMMANDS_SWEEP_OUTPUT_H_
#define ATTNBENCH_HARNESS_COMMANDS_SWEEP_OUTPUT_H_

#include <string>

#include "harness/results/sweep_result.h"

namespace attnbench {

// A line about the whole and one for each warning.
std::string ResultText(const SweepResult& result, const std::string& path);

// The first rows of its table (answers/table.h) and ResultText on standard
// output, what failed first on standard error. Gives the exit code: 1 where a
// cell failed or all were skipped.
int PrintResult(const SweepResult& result, const std::string& path);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_COMMANDS_SWEEP_OUTPUT_H_
