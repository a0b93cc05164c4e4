// Finds what the program needs of its sources: experiments, ledger, schemas,
// and scripts that it runs. The sources are looked for above the program's own
// folder (build/PRESET), so that a tree that was moved or copied with its build
// still works; an installed program finds them on the way from CMake's folder
// of programs to that of data, such as ../share/attnbench. A program that was
// moved alone has the sources that it was built from, or else the installed
// ones.
#ifndef ATTNBENCH_HARNESS_SYSTEM_SOURCE_TREE_H_
#define ATTNBENCH_HARNESS_SYSTEM_SOURCE_TREE_H_

#include <filesystem>
#include <string>

namespace attnbench {

// The path of this program.
std::filesystem::path ProgramPath();

// The path of a file that `command` needs, such as "plots/report.py". Throws
// UserError if it is nowhere.
std::string FindInSources(const std::string& command, const std::string& file);

// Gives `path` if there is such a file or folder here; otherwise that of the
// sources, if they have it.
std::string HereOrInSources(const std::string& path);

// The experiment file that a user means: a path (HereOrInSources), or the name
// of one in experiments/, such as "mad_figure8".
std::string ExperimentPath(const std::string& text);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SYSTEM_SOURCE_TREE_H_
