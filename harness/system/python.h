// Runs a Python script of the sources, which makes figures, pages or verdicts.
#ifndef ATTNBENCH_HARNESS_SYSTEM_PYTHON_H_
#define ATTNBENCH_HARNESS_SYSTEM_PYTHON_H_

#include <string>
#include <vector>

namespace attnbench {

// Waits for the end of the script and gives its exit code. The command prints
// nothing else, and ends with this code. `script` is a path in the sources,
// such as "plots/report.py". Throws UserError if the script or Python is
// missing.
int RunPython(const std::string& command, const std::string& script,
              const std::vector<std::string>& arguments);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SYSTEM_PYTHON_H_
