// Tells people a result of a sweep, for `run-sweep` and for `merge` of its
// shards.
#ifndef ATTNBENCH_HARNESS_COMMANDS_SWEEP_OUTPUT_H_
#define ATTNBENCH_HARNESS_COMMANDS_SWEEP_OUTPUT_H_

#include <string>

#include "harness/results/sweep_result.h"

namespace attnbench {

// A line about the whole and one for each warning on standard output, what
// failed first on standard error. Gives the exit code: 1 where a cell failed or
// all were skipped.
int TellResult(const SweepResult& result, const std::string& path);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_COMMANDS_SWEEP_OUTPUT_H_
