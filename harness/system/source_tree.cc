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

constexpr const char* kFurtherPlaces[] = {ATTNBENCH_SOURCE_DIR,
                                          "/usr/share/attnbench"};

// The file's path; empty if it is nowhere.
std::string PathInSources(const std::string& file) {
  std::error_code ignored;
  fs::path folder = ProgramPath();
  while (folder.has_relative_path()) {
    folder = folder.parent_path();
    for (const char* place : {"", "share/attnbench"}) {
      const fs::path path = folder / place / file;
      if (fs::exists(path, ignored)) return path.string();
    }
  }
  for (const char* place : kFurtherPlaces) {
    const fs::path path = fs::path(place) / file;
    if (fs::exists(path, ignored)) return path.string();
  }
  return "";
}

}  // namespace

std::string FindInSources(const std::string& command, const std::string& file) {
  std::string found = PathInSources(file);
  if (!found.empty()) return found;
  throw UserError(command,
                  fmt::format("no {} in a folder above {}, nor in {}; it is "
                              "part of the sources and of an installation",
                              file, ProgramPath().string(),
                              fmt::join(kFurtherPlaces, " or ")));
}

std::string HereOrInSources(const std::string& path) {
  std::error_code ignored;
  if (fs::path(path).is_absolute() || fs::exists(path, ignored)) return path;
  const std::string found = PathInSources(path);
  return found.empty() ? path : found;
}

std::string ExperimentPath(const std::string& text) {
  std::error_code ignored;
  if (fs::exists(text, ignored) && !fs::is_directory(text, ignored)) {
    return text;
  }
  const std::string named = HereOrInSources("experiments/" + text + ".json");
  return fs::exists(named, ignored) ? named : HereOrInSources(text);
}

}  // namespace attnbench
