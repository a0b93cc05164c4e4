// Finds what the program needs of its sources: ledger, schemas, and scripts
// that it runs. The sources are looked for above the program's own folder
// (build/PRESET), so that a tree that was moved or copied with its build still
// works.
#ifndef ATTNBENCH_HARNESS_SYSTEM_SOURCE_TREE_H_
#define ATTNBENCH_HARNESS_SYSTEM_SOURCE_TREE_H_

#include <filesystem>
#include <string>

namespace attnbench {

// The path of this program.
std::filesystem::path ProgramPath();

// The path of a file that `command` needs, such as "plots/report.py". Throws
// UserError if no folder above the program has it.
std::string FindInSources(const std::string& command, const std::string& file);

// Gives `path` if there is such a file or folder here; otherwise that of the
// sources, if they have it.
std::string HereOrInSources(const std::string& path);

// Finds Debian's Python, which has Debian's libraries: another one often comes
// first on PATH and has none.
std::string FindPython();

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SYSTEM_SOURCE_TREE_H_
