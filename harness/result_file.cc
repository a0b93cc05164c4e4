#include "harness/result_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "harness/error.h"

namespace attnbench {
namespace {

namespace fs = std::filesystem;

// A new file beside the target, removed unless it was renamed to it.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& path, const std::string& target)
      : path_(path), name_(target + ".XXXXXX") {
    descriptor_ = mkstemp(name_.data());
    if (descriptor_ < 0) Fail();
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!renamed_) unlink(name_.c_str());
  }

  void Write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = write(descriptor_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) Fail();
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  void RenameTo(const std::string& target) {
    // mkstemp makes files that only their owner can read.
    const mode_t mask = umask(0);
    umask(mask);
    if (fchmod(descriptor_, 0666 & ~mask) != 0) Fail();
    if (fsync(descriptor_) != 0) Fail();
    // Some file systems tell only here that the disk is full.
    if (close(std::exchange(descriptor_, -1)) != 0) Fail();
    if (std::rename(name_.c_str(), target.c_str()) != 0) Fail();
    renamed_ = true;
  }

 private:
  [[noreturn]] void Fail() const {
    throw UserError(path_,
                    fmt::format("cannot be written: {}", std::strerror(errno)));
  }

  std::string path_;
  std::string name_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

// A rename is on the disk only when its folder is; a file system that cannot
// do that has the file all the same.
void SyncFolder(const std::string& target) {
  const std::string folder = fs::path(target).parent_path();
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

// Strict JSON that tools can compare line by line: the elements of an array at
// the top, the cells, have a line each.
std::string DocumentText(const Json& document) {
  std::string text = "{\n";
  for (const auto& [key, value] : document.items()) {
    if (text.size() > 2) text += ",\n";
    text += Json(key).dump() + ": ";
    if (!value.is_array()) {
      text += value.dump();
      continue;
    }
    std::string separator = "[\n";
    for (const Json& element : value) {
      text += std::exchange(separator, ",\n") + element.dump();
    }
    text += value.empty() ? "[]" : "\n]";
  }
  return text + "\n}\n";
}

}  // namespace

ResultFile::ResultFile(std::string path, bool force) : path_(std::move(path)) {
  if (path_.empty()) throw UserError("--output", "the name is empty");
  std::error_code error;
  target_ = fs::weakly_canonical(fs::absolute(path_), error);
  if (error) throw UserError(path_, "cannot be written: " + error.message());
  if (!fs::is_directory(fs::path(target_).parent_path(), error)) {
    throw UserError(path_, fmt::format("there is no folder '{}'",
                                       fs::path(path_).parent_path().string()));
  }
  const fs::file_status status = fs::status(target_, error);
  if (fs::exists(status)) {
    if (!fs::is_regular_file(status)) {
      throw UserError(path_, "is there and is not a file that can be replaced");
    }
    if (!force) {
      throw UserError(path_, "is there already; --force replaces it");
    }
  }
  // Asking for permissions does not tell about read-only file systems.
  TemporaryFile(path_, target_);
}

void ResultFile::Write(const Json& document) const {
  TemporaryFile file(path_, target_);
  file.Write(DocumentText(document));
  file.RenameTo(target_);
  SyncFolder(target_);
}

}  // namespace attnbench
