// Runs Python of the sources, which makes figures, pages or verdicts.
//
// The interpreter is what the variable ATTNBENCH_PYTHON names; else that of an
// active environment (VIRTUAL_ENV, then CONDA_PREFIX) that has the packages
// which such scripts need (start.py), and those that are named; else the one
// that was found when this program was built: the system's, as another one
// often comes first on PATH and has no packages; else the first python3 of
// PATH. scripts/lib.sh makes the same choice.
#ifndef ATTNBENCH_HARNESS_SYSTEM_PYTHON_H_
#define ATTNBENCH_HARNESS_SYSTEM_PYTHON_H_

#include <string>
#include <vector>

namespace attnbench {

// Gives the interpreter: a path, or a name to be looked for on PATH. Throws
// UserError if the sources that `command` needs are nowhere.
std::string FindPython(const std::string& command,
                       const std::vector<std::string>& packages = {});

// Gives the environment of that interpreter: ours without what a user sets for
// another Python, or for programs of his own, and what would end it or change
// what it does; with this program's path and version. A PYTHONHOME beside
// ATTNBENCH_PYTHON is meant for it.
std::vector<std::string> PythonEnvironment();

// Waits for the end of the script, which reads `input` from its standard input,
// and gives its exit code. `script` is a path in the sources, such as
// "scripts/relink.py". Throws UserError if the script or Python is missing.
int RunPython(const std::string& command, const std::string& script,
              const std::vector<std::string>& arguments,
              const std::string& input = {});

// Turns this process into the script, which also finds what the user typed in
// the last of the variables below; returns only by throwing as RunPython.
// `packages` are for FindPython.
[[noreturn]] void BecomePython(const std::string& command,
                               const std::string& script,
                               const std::vector<std::string>& arguments,
                               const std::string& command_line,
                               const std::vector<std::string>& packages = {});

// The commands in Python.
inline constexpr char kPythonCommands[] = "python/attnbench/__main__.py";
inline constexpr char kProgramVariable[] = "ATTNBENCH_PROGRAM";
inline constexpr char kVersionVariable[] = "ATTNBENCH_PROGRAM_VERSION";
inline constexpr char kTypedVariable[] = "ATTNBENCH_COMMAND_LINE";

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SYSTEM_PYTHON_H_
