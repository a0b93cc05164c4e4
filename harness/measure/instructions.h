// Counts the instructions of trials, in a process that runs under callgrind, a
// tool of valgrind: a simulated processor gives the same number each time,
// whatever else the machine does.
#ifndef ATTNBENCH_HARNESS_MEASURE_INSTRUCTIONS_H_
#define ATTNBENCH_HARNESS_MEASURE_INSTRUCTIONS_H_

#include <functional>
#include <string>
#include <vector>

namespace attnbench {

// The command that runs a program under callgrind. Callgrind writes its counts
// to `counts`.1, `counts`.2 and so on, a file for each counted trial.
std::vector<std::string> UnderCallgrind(const std::string& counts,
                                        std::vector<std::string> program);

class InstructionCounter {
 public:
  // `counts` is that of UnderCallgrind, which has started this process.
  explicit InstructionCounter(std::string counts)
      : counts_(std::move(counts)) {}

  // The instructions of a trial, those of all its threads and libraries. Throws
  // UserError if callgrind counted none.
  double Count(const std::function<void()>& trial);

 private:
  const std::string counts_;
  int number_ = 0;  // of trials so far
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MEASURE_INSTRUCTIONS_H_
