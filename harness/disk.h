// Writing so that what was written is there after whatever comes.
#ifndef ATTNBENCH_HARNESS_DISK_H_
#define ATTNBENCH_HARNESS_DISK_H_

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>

namespace attnbench {

// All of `text`; false, with errno, where less is written.
inline bool WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// A name is on the disk only when its folder is; a file system that cannot do
// that has the file all the same.
inline void SyncFolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_DISK_H_
