// Runs a script of the sources: figures, pages and verdicts are made in Python.
#ifndef ATTNBENCH_HARNESS_SYSTEM_PYTHON_H_
#define ATTNBENCH_HARNESS_SYSTEM_PYTHON_H_

#include <string>
#include <vector>

namespace attnbench {

// Waits for the end of the script and gives its exit code, which is the
// command's, as what it prints is. `script` is a path in the sources, such as
// "plots/report.py". Throws UserError where the script or Python is missing.
int RunPython(const std::string& command, const std::string& script,
              const std::vector<std::string>& arguments);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SYSTEM_PYTHON_H_
