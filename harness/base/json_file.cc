#include "harness/base/json_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/printable.h"

template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace attnbench {
namespace {

constexpr std::size_t kMostJsonBytes = std::size_t{512} << 20;
constexpr int kMostSecondsOfWaiting = 60;

[[noreturn]] void FailReading(const std::string& path, const char* why) {
  throw UserError(path, std::string("cannot be read: ") + why);
}

class OpenFile {
 public:
  // Without O_NONBLOCK a FIFO that nobody writes to would never open.
  explicit OpenFile(const std::string& path)
      : path_(path), file_(open(path.c_str(), O_RDONLY | O_NONBLOCK)) {
    if (file_ < 0) FailReading(path, std::strerror(errno));
  }
  ~OpenFile() { close(file_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // A device is refused, because it may have no end.
  void CheckKind() const {
    struct stat status = {};
    if (fstat(file_, &status) != 0) FailReading(path_, std::strerror(errno));
    if (S_ISDIR(status.st_mode)) FailReading(path_, std::strerror(EISDIR));
    if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) {
      FailReading(path_, "is neither a file nor a pipe");
    }
  }

  // Reads up to `size` bytes and gives their number; 0 at the end.
  std::size_t Read(char* to, std::size_t size) const {
    while (true) {
      const ssize_t got = read(file_, to, size);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno == EAGAIN) {
        WaitForData();
      } else if (errno != EINTR) {
        FailReading(path_, std::strerror(errno));
      }
    }
  }

 private:
  // Waits until somebody writes to the pipe.
  void WaitForData() const {
    pollfd waiting = {.fd = file_, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, kMostSecondsOfWaiting * 1000) == 0) {
      FailReading(path_, "a pipe, and nothing came");
    }
  }

  const std::string& path_;
  const int file_;
};

std::string ReadText(const std::string& path) {
  const OpenFile file(path);
  file.CheckKind();
  std::string text;
  std::array<char, 1 << 16> part;
  while (const std::size_t got = file.Read(part.data(), part.size())) {
    text.append(part.data(), got);
    if (text.size() > kMostJsonBytes) {
      FailReading(path, "is larger than 512 MiB");
    }
  }
  return text;
}

class CheckWhileParsing {
 public:
  explicit CheckWhileParsing(const std::string& path) : path_(path) {}

  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    if (depth > kMostJsonDepth) {
      throw UserError(path_, fmt::format("is nested deeper than {} levels",
                                         kMostJsonDepth));
    }
    if (event == Json::parse_event_t::object_start) {
      keys_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys_.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto key = parsed.get<std::string>();
      if (!keys_.back().insert(key).second) {
        throw UserError(path_, fmt::format("key '{}' appears twice in one "
                                           "object",
                                           key));
      }
    }
    return true;
  }

 private:
  const std::string& path_;
  std::vector<std::set<std::string>> keys_;
};

// The parser names the number (between the last quotation marks), not its
// place.
[[noreturn]] void ThrowTooLarge(const std::string& path,
                                const std::string& text,
                                const std::string& message) {
  const std::size_t last = message.rfind('\'');
  const std::size_t first = message.rfind('\'', last - 1) + 1;
  const std::string number = message.substr(first, last - first);
  const auto place = text.begin() + static_cast<std::ptrdiff_t>(std::min(
                                        text.find(number), text.size()));
  throw UserError(
      path, fmt::format("line {}: {} is beyond double precision",
                        1 + std::count(text.begin(), place, '\n'), number));
}

}  // namespace

Json ReadJsonFile(const std::string& path) {
  const std::string text = ReadText(path);
  if (text.empty()) throw UserError(path, "is empty, must be JSON");
  try {
    return Json::parse(text, CheckWhileParsing(path));
  } catch (const Json::parse_error& error) {
    const std::string message = error.what();
    throw UserError(
        path,
        "is not JSON: " + Printable(message.substr(message.find("] ") + 2)));
  } catch (const Json::out_of_range& error) {
    ThrowTooLarge(path, text, error.what());
  }
}

}  // namespace attnbench
