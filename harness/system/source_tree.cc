#include "harness/system/source_tree.h"

#include <fmt/format.h>

#include <filesystem>

#include "harness/base/error.h"

namespace attnbench {

namespace fs = std::filesystem;

fs::path ProgramPath() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

namespace {

// The file's path; empty if no folder above the program has it.
std::string PathInSources(const std::string& file) {
  std::error_code ignored;
  fs::path folder = ProgramPath();
  while (folder.has_relative_path()) {
    folder = folder.parent_path();
    if (fs::exists(folder / file, ignored)) return (folder / file).string();
  }
  return "";
}

}  // namespace

std::string FindInSources(const std::string& command, const std::string& file) {
  const std::string found = PathInSources(file);
  if (!found.empty()) return found;
  throw UserError(command,
                  fmt::format("no {} in a folder above {}; it is part of the "
                              "sources",
                              file, ProgramPath().string()));
}

std::string HereOrInSources(const std::string& path) {
  std::error_code ignored;
  if (fs::path(path).is_absolute() || fs::exists(path, ignored)) return path;
  const std::string found = PathInSources(path);
  return found.empty() ? path : found;
}

std::string FindPython() {
  std::error_code error;
  const bool is_debian = fs::exists("/etc/debian_version", error);
  return is_debian ? "/usr/bin/python3" : "python3";
}

}  // namespace attnbench
