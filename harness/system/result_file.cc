#include "harness/system/result_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "harness/base/error.h"
#include "harness/base/input_file.h"
#include "harness/system/disk.h"

namespace attnbench {
namespace {

namespace fs = std::filesystem;

// A temporary file's name is the target's, this, and kNumRandom letters. Nobody
// else gives such a name to a file that is to stay.
constexpr char kUnfinished[] = ".unfinished-";
constexpr char kIsThere[] = "is there already; --force replaces it";

// A new file beside the target, which is removed unless it was renamed to it.
// It is locked while its owner lives: see RemoveLeftovers.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& path, const std::string& target)
      : path_(path) {
    // Another run may remove the file between our making it and our locking it.
    do {
      CloseAll();
      name_ = target + kUnfinished + std::string(kNumRandom, 'X');
      descriptor_ = mkostemp(name_.data(), O_CLOEXEC);
      if (descriptor_ < 0) Fail();
      lock_ = fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
    } while (flock(descriptor_, LOCK_EX) == 0 && IsGone(descriptor_));
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!renamed_) unlink(name_.c_str());
    CloseAll();
  }

  void Write(std::string_view text) {
    if (!WriteAll(descriptor_, text)) Fail();
  }

  void RenameTo(const std::string& target, bool may_replace) {
    // mkstemp makes files that only their owner can read.
    const mode_t mask = umask(0);
    umask(mask);
    if (fchmod(descriptor_, 0666 & ~mask) != 0) Fail();
    if (fsync(descriptor_) != 0) Fail();
    // Some file systems tell only here that the disk is full.
    if (close(std::exchange(descriptor_, -1)) != 0) Fail();
    if (Rename(target, may_replace) != 0) {
      if (errno == EEXIST) throw UserError(path_, kIsThere);
      Fail();
    }
    renamed_ = true;
  }

 private:
  // Like rename; fails with EEXIST if something is there and `may_replace` is
  // false.
  int Rename(const std::string& target, bool may_replace) const {
    if (may_replace) return std::rename(name_.c_str(), target.c_str());
    const int status = renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD,
                                 target.c_str(), RENAME_NOREPLACE);
    if (status == 0 || (errno != EINVAL && errno != ENOSYS)) return status;
    // This file system cannot do both at once.
    struct stat there {};
    if (lstat(target.c_str(), &there) == 0) {
      errno = EEXIST;
      return -1;
    }
    return std::rename(name_.c_str(), target.c_str());
  }

  void CloseAll() {
    for (int* descriptor : {&descriptor_, &lock_}) {
      if (*descriptor >= 0) close(std::exchange(*descriptor, -1));
    }
  }

  [[noreturn]] void Fail() const {
    throw UserError(path_,
                    fmt::format("cannot be written: {}", std::strerror(errno)));
  }

  std::string path_;
  std::string name_;
  int descriptor_ = -1;
  int lock_ = -1;  // the same file; keeps the lock when the other is closed
  bool renamed_ = false;
};

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

// Follows a link, even to a file that is not there yet.
fs::path LinkedFrom(fs::path path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  std::error_code error;
  for (int n = 0; n < kMostLinks && fs::is_symlink(path, error); ++n) {
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  return path;
}

// Whether standard output or error goes to this file. Its old text would go to
// no file that has a name once the result has replaced it.
bool IsPrintedTo(const std::string& path) {
  struct stat there {
  }, printed{};
  if (stat(path.c_str(), &there) != 0) return false;
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    if (fstat(descriptor, &printed) == 0 && there.st_ino == printed.st_ino &&
        there.st_dev == printed.st_dev) {
      return true;
    }
  }
  return false;
}

}  // namespace

void RefuseToReplace(const std::vector<std::string>& inputs,
                     const std::string& output) {
  for (const std::string& input : inputs) {
    std::error_code none;
    const std::string read = input == kStandardInput ? "/dev/stdin" : input;
    if (!fs::equivalent(read, output, none)) continue;
    throw UserError(output,
                    "is read by this command, and would be replaced; "
                    "choose another output");
  }
}

ResultFile::ResultFile(std::string path, bool may_replace)
    : path_(std::move(path)), may_replace_(may_replace) {
  if (path_.empty()) throw UserError("--output", "the name is empty");
  if (path_ == "-") {
    throw UserError(path_,
                    "is no file, and a result is written whole or not at all, "
                    "so never to standard output; ./- is a file of that name");
  }
  std::error_code error;
  const fs::path absolute = fs::absolute(path_, error);
  if (!error) target_ = fs::weakly_canonical(LinkedFrom(absolute), error);
  if (error) throw UserError(path_, "cannot be written: " + error.message());
  // The target of /dev/stdout may be a pipe, which has no name.
  const fs::file_status status = fs::status(path_, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw UserError(path_, "is there and is not a file that can be replaced");
  }
  if (IsPrintedTo(path_)) {
    throw UserError(path_, "is where this command prints; choose another file");
  }
  if (!fs::is_directory(fs::path(target_).parent_path(), error)) {
    throw UserError(path_, fmt::format("there is no folder '{}'",
                                       fs::path(path_).parent_path().string()));
  }
  if (fs::exists(status) && !may_replace) throw UserError(path_, kIsThere);
  RemoveLeftovers(fs::path(target_).parent_path(),
                  fs::path(target_).filename().string() + kUnfinished);
  // Permissions do not show read-only file systems, so this makes a file.
  TemporaryFile(path_, target_);
}

void ResultFile::Write(const Json& document) const {
  TemporaryFile file(path_, target_);
  file.Write(DocumentText(document));
  file.RenameTo(target_, may_replace_);
  SyncFolderOf(target_);
}

}  // namespace attnbench
