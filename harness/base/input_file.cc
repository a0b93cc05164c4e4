#include "harness/base/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "harness/base/error.h"

namespace attnbench {
namespace {

constexpr int kMostSecondsOfWaiting = 60;
constexpr int kMostSecondsWithoutWriter = 5;

[[noreturn]] void FailReading(const std::string& path, const char* why) {
  throw UserError(path, std::string("cannot be read: ") + why);
}

class OpenFile {
 public:
  // Without O_NONBLOCK a FIFO that nobody writes to would never open.
  explicit OpenFile(const std::string& path)
      : path_(path),
        file_(path == kStandardInput
                  ? dup(STDIN_FILENO)
                  : open(path.c_str(), O_RDONLY | O_NONBLOCK)) {
    if (file_ < 0) FailReading(path, std::strerror(errno));
  }
  ~OpenFile() { close(file_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // A device is refused, because it may have no end.
  void CheckKind() {
    struct stat status = {};
    if (fstat(file_, &status) != 0) FailReading(path_, std::strerror(errno));
    if (S_ISDIR(status.st_mode)) FailReading(path_, std::strerror(EISDIR));
    if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode) &&
        path_ != kStandardInput) {
      FailReading(path_, "is neither a file nor a pipe");
    }
    is_new_pipe_ = S_ISFIFO(status.st_mode) && path_ != kStandardInput;
  }

  // Reads up to `size` bytes and gives their number; 0 at the end.
  std::size_t Read(char* to, std::size_t size) {
    // A pipe that nobody has opened for writing yet would read as empty.
    const bool may_lack_writer = std::exchange(is_new_pipe_, false) &&
                                 !HasData(kMostSecondsWithoutWriter);
    while (true) {
      const ssize_t got = read(file_, to, size);
      if (got == 0 && may_lack_writer) {
        FailReading(path_, "a pipe that nobody writes to");
      }
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno == EAGAIN) {
        if (!HasData(kMostSecondsOfWaiting)) {
          FailReading(path_, "a pipe, and nothing came");
        }
      } else if (errno != EINTR) {
        FailReading(path_, std::strerror(errno));
      }
    }
  }

 private:
  // Waits until somebody has written to the pipe; false if nobody does.
  bool HasData(int most_seconds) const {
    pollfd waiting = {.fd = file_, .events = POLLIN, .revents = 0};
    return poll(&waiting, 1, most_seconds * 1000) != 0;
  }

  const std::string& path_;
  const int file_;
  bool is_new_pipe_ = false;
};

}  // namespace

std::string ReadInput(const std::string& path, std::size_t most_mebibytes) {
  OpenFile file(path);
  file.CheckKind();
  std::string text;
  std::array<char, 1 << 16> part;
  while (const std::size_t got = file.Read(part.data(), part.size())) {
    text.append(part.data(), got);
    if (text.size() > most_mebibytes << 20) {
      throw UserError(path, fmt::format("cannot be read: is larger than {} MiB",
                                        most_mebibytes));
    }
  }
  return text;
}

}  // namespace attnbench
