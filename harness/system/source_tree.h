// What the program needs of the sources beside itself: ledger, schemas, and
// scripts that it runs. The sources are looked for above the program's own
// folder (build/PRESET), so that a tree that was moved or copied with its build
// still works.
#ifndef ATTNBENCH_HARNESS_SYSTEM_SOURCE_TREE_H_
#define ATTNBENCH_HARNESS_SYSTEM_SOURCE_TREE_H_

#include <string>

namespace attnbench {

// The path of a file that `command` wants, such as "plots/report.py". Throws
// UserError where it is in no folder above the program.
std::string FindInSources(const std::string& command, const std::string& file);

// `path` as it is from here; where there is no such file, or folder, that of
// the sources if they have it.
std::string HereOrInSources(const std::string& path);

// Debian's Python, which has Debian's libraries: another one often comes first
// on PATH and has none.
std::string FindPython();

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SYSTEM_SOURCE_TREE_H_
