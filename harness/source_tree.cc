#include "harness/source_tree.h"

#include <fmt/format.h>

#include <filesystem>

#include "harness/error.h"

namespace attnbench {

namespace fs = std::filesystem;

std::string FindInSources(const std::string& command, const std::string& file) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (fs::path folder = program.parent_path(); !error;
       folder = folder.parent_path()) {
    const fs::path found = folder / file;
    if (fs::exists(found, error)) return found.string();
    if (folder == folder.parent_path()) break;
  }
  throw UserError(command,
                  fmt::format("no {} in a folder above {}; it is part of the "
                              "sources",
                              file, program.string()));
}

std::string FindPython() {
  std::error_code error;
  const bool is_debian = fs::exists("/etc/debian_version", error);
  return is_debian ? "/usr/bin/python3" : "python3";
}

}  // namespace attnbench
