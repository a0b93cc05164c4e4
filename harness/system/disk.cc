#include "harness/system/disk.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace attnbench {

namespace fs = std::filesystem;

namespace {

// Opens a file for writing: some network file systems lock only then.
int OpenToLock(const fs::path& path) {
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int descriptor = open(path.c_str(), O_RDWR | kFlags);
  const bool is_folder = descriptor < 0 && errno == EISDIR;
  return is_folder ? open(path.c_str(), O_RDONLY | kFlags) : descriptor;
}

}  // namespace

bool WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void SyncFolderOf(const std::string& path) {
  const std::string folder = fs::path(path).parent_path();
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

bool IsGone(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && status.st_nlink == 0;
}

void RemoveLeftovers(const fs::path& folder, const std::string& begin) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(begin) || name.size() != begin.size() + kNumRandom) {
      continue;
    }
    const int descriptor = OpenToLock(entry.path());
    if (descriptor < 0) continue;
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
      fs::remove_all(entry.path(), error);
    }
    close(descriptor);
  }
}

}  // namespace attnbench
