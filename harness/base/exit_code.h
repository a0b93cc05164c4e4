// The exit codes of the program; the table is in docs/comparing.md.
#ifndef ATTNBENCH_HARNESS_BASE_EXIT_CODE_H_
#define ATTNBENCH_HARNESS_BASE_EXIT_CODE_H_

namespace attnbench {

enum ExitCode {
  kGood = 0,
  kFailed = 1,            // a check, a comparison or a cell failed
  kWrongUsage = 2,        // wrong options, or malformed input
  kNothingToCompare = 3,  // no baseline, or cells that only one side has
  kInternalError = 4,
  kNotValid = 5,      // times of a result that is not valid were compared
  kInterrupted = 130  // 128 + SIGINT; a sweep keeps what was finished
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_BASE_EXIT_CODE_H_
