#include "harness/system/source_tree.h"

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <vector>

#include "harness/base/error.h"

namespace attnbench {

namespace fs = std::filesystem;

fs::path ProgramPath() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

namespace {

constexpr const char* kFurtherPlaces[] = {
    ATTNBENCH_SOURCE_DIR, ATTNBENCH_DATA_DIR, "/usr/share/attnbench"};

// The file's path; empty if it is nowhere.
std::string PathInSources(const std::string& file) {
  fs::path folder = ProgramPath().parent_path();
  std::vector<fs::path> places = {
      (folder / ATTNBENCH_DATA_FROM_PROGRAM).lexically_normal()};
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    places.push_back(folder);
  }
  places.insert(places.end(), std::begin(kFurtherPlaces),
                std::end(kFurtherPlaces));
  std::error_code ignored;
  for (const fs::path& place : places) {
    const fs::path path = place / file;
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
