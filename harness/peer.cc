#include "harness/peer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "harness/error.h"

namespace attnbench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestAnswer = std::size_t{1} << 26;
constexpr std::size_t kMostWords = std::size_t{1} << 20;
constexpr std::size_t kQuotedLength = 200;
// A peer that ends when its input ends needs no more; then it is killed.
constexpr std::chrono::milliseconds kFarewell{2000};

// An open file of the operating system.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { Close(); }
  Descriptor(Descriptor&& other) noexcept
      : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int number() const { return number_; }
  void Close() {
    if (number_ >= 0) close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

void Check(int status, const char* what) {
  if (status != 0) {
    throw PeerError(fmt::format("could not be started: {}: {}", what,
                                std::strerror(status < 0 ? errno : status)));
  }
}

struct Ends {
  Descriptor ours;
  Descriptor theirs;
};

// What the peer writes.
Ends MakePipe() {
  std::array<int, 2> ends{};
  Check(pipe2(ends.data(), O_CLOEXEC), "pipe");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// What the peer reads: a socket, because writing to one whose reader is gone
// can be told to give an error. A pipe would send SIGPIPE to this program.
Ends MakeSocket() {
  std::array<int, 2> ends{};
  Check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()),
        "socketpair");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// Our environment, with one thread for every library that would otherwise take
// all cores as it starts; the peer sets the number of threads of a cell. Freed
// memory stays with the peer, as it does with us (harness/commands/main.cc).
std::vector<std::string> Environment() {
  std::vector<std::string> all = {"OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1",
                                  "MKL_NUM_THREADS=1", "MALLOC_MMAP_MAX_=0",
                                  "MALLOC_TRIM_THRESHOLD_=2147483647"};
  const std::size_t own = all.size();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const std::string name = text.substr(0, text.find('=') + 1);
    const bool is_ours = std::any_of(
        all.begin(), all.begin() + static_cast<std::ptrdiff_t>(own),
        [&name](const std::string& one) { return one.starts_with(name); });
    if (!is_ours) all.push_back(text);
  }
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string Quoted(const std::string& text) {
  return text.size() <= kQuotedLength ? text
                                      : text.substr(0, kQuotedLength) + "...";
}

// A text that JSON can hold, whatever bytes the peer wrote.
std::string Printable(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    text += byte < ' ' || byte == 0x7f ? '?' : byte;
  }
  return text;
}

}  // namespace

// The running process with both ends of its pipes.
class Peer::Process {
 public:
  explicit Process(const std::string& command)
      : input_(MakeSocket()), output_(MakePipe()), errors_(MakePipe()) {
    posix_spawn_file_actions_t actions{};
    posix_spawnattr_t attributes{};
    Check(posix_spawn_file_actions_init(&actions), "posix_spawn");
    Check(posix_spawnattr_init(&attributes), "posix_spawn");
    posix_spawn_file_actions_adddup2(&actions, input_.theirs.number(), 0);
    posix_spawn_file_actions_adddup2(&actions, output_.theirs.number(), 1);
    posix_spawn_file_actions_adddup2(&actions, errors_.theirs.number(), 2);
    // A group of its own: whatever it starts is stopped with it.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    std::vector<std::string> arguments = {"sh", "-c", "exec " + command};
    std::vector<std::string> environment = Environment();
    const int status =
        posix_spawn(&id_, "/bin/sh", &actions, &attributes,
                    Pointers(arguments).data(), Pointers(environment).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    Check(status, "/bin/sh");
    input_.theirs.Close();
    output_.theirs.Close();
    errors_.theirs.Close();
    // Somebody that the peer left behind may hold it open for ever.
    fcntl(errors_.ours.number(), F_SETFL, O_NONBLOCK);
  }
  ~Process() { Stop(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Gives up where nobody reads, or not by then.
  void Send(const std::string& text, Clock::time_point deadline) {
    std::size_t sent = 0;
    while (sent < text.size()) {
      pollfd wait{input_.ours.number(), POLLOUT, 0};
      if (Poll(&wait, 1, deadline) <= 0) return;
      const ssize_t count =
          send(input_.ours.number(), text.data() + sent, text.size() - sent,
               MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno != EAGAIN && errno != EINTR) return;
      if (count > 0) sent += static_cast<std::size_t>(count);
    }
  }

  // The next line without its end; none where the peer closed its output, or
  // wrote none by then.
  std::optional<std::string> ReadLine(Clock::time_point deadline) {
    while (true) {
      const std::size_t end = unread_.find('\n');
      if (end != std::string::npos) {
        std::string line = unread_.substr(0, end);
        unread_.erase(0, end + 1);
        return line;
      }
      if (unread_.size() > kLongestAnswer) return std::exchange(unread_, "");
      std::array<pollfd, 2> wait = {pollfd{output_.ours.number(), POLLIN, 0},
                                    pollfd{errors_.ours.number(), POLLIN, 0}};
      if (Poll(wait.data(), wait.size(), deadline) <= 0) return std::nullopt;
      if (wait[1].revents != 0) {
        ReadSome(errors_.ours, said_);
        if (said_.size() > kMostWords) said_.erase(0, said_.size() / 2);
      }
      if (wait[0].revents != 0 && !ReadSome(output_.ours, unread_)) {
        return std::nullopt;
      }
    }
  }

  // Lets the process end by itself, kills what is left, and says how it ended.
  std::string Stop() {
    if (id_ < 0) return {};
    input_.ours.Close();
    const Clock::time_point deadline = Clock::now() + kFarewell;
    int status = 0;
    bool ended = false;
    while (!ended && !killed_ && Clock::now() < deadline) {
      ended = waitpid(id_, &status, WNOHANG) == id_;
      if (!ended) usleep(1000);
    }
    kill(-id_, SIGKILL);
    while (!ended && waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    id_ = -1;
    while (ReadSome(errors_.ours, said_)) {
    }
    if (WIFSIGNALED(status)) {
      return fmt::format("was killed by signal {}", WTERMSIG(status));
    }
    return fmt::format("ended with status {}", WEXITSTATUS(status));
  }

  // Stop will not wait for it.
  void Kill() {
    killed_ = true;
    kill(-id_, SIGKILL);
  }

  // The last line on stderr that has anything in it.
  std::string LastWords() const {
    const std::size_t last = said_.find_last_not_of(" \r\n");
    if (last == std::string::npos) return {};
    const std::size_t first = said_.find_last_of('\n', last);
    return Quoted(
        said_.substr(first + 1, last - (first + 1) + 1));  // npos + 1 is 0
  }

 private:
  static int Poll(pollfd* wait, nfds_t count, Clock::time_point deadline) {
    while (true) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      if (left.count() <= 0) return 0;
      const int ready = poll(wait, count, static_cast<int>(left.count()));
      if (ready >= 0 || errno != EINTR) return ready;
    }
  }

  // Appends what is there; false at the end.
  static bool ReadSome(const Descriptor& from, std::string& to) {
    std::array<char, 1 << 16> block{};
    const ssize_t count = read(from.number(), block.data(), block.size());
    if (count < 0 && errno == EINTR) return true;
    if (count <= 0) return false;
    to.append(block.data(), static_cast<std::size_t>(count));
    return true;
  }

  Ends input_;
  Ends output_;
  Ends errors_;
  pid_t id_ = -1;
  bool killed_ = false;
  std::string unread_;
  std::string said_;
};

Peer::Peer(const std::string& command, std::chrono::seconds limit,
           const AxisTable& table)
    : command_(command), limit_(limit) {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "attnbench-peer-XXXXXX")
          .string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw UserError("--peer", fmt::format("cannot make a temporary folder: {}",
                                          std::strerror(errno)));
  }
  folder_ = pattern;
  try {
    info_ = ParsePeerInfo(Call({{"call", "describe"}}), table);
  } catch (const std::exception& error) {
    process_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    throw UserError("--peer",
                    fmt::format("'{}' {}", Quoted(command_), error.what()));
  }
}

Peer::~Peer() {
  process_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Peer::Start() {
  process_ = std::make_unique<Process>(command_);
  ++generation_;
}

std::string Peer::Path(const std::string& name) const {
  return folder_ + "/" + name;
}

// Stops the peer, and throws with its last words.
void Peer::Fail(const std::string& what) {
  const std::string end = process_->Stop();
  std::string text = what.empty() ? end : what;
  const std::string words = Printable(process_->LastWords());
  if (!words.empty()) text += ": " + words;
  process_.reset();
  throw PeerError(text);
}

Json Peer::Call(const Json& request) {
  if (process_ == nullptr) Start();
  const Clock::time_point deadline = Clock::now() + limit_;
  // What it said before it went is worth hearing, even if nobody listened.
  process_->Send(request.dump() + "\n", deadline);
  const std::optional<std::string> line = process_->ReadLine(deadline);
  if (!line.has_value()) {
    if (Clock::now() < deadline) Fail("");
    process_->Kill();
    Fail(fmt::format("gave no answer to '{}' within {} s",
                     request.at("call").get<std::string>(), limit_.count()));
  }
  Json answer = Json::parse(*line, nullptr, false);
  if (!answer.is_object()) {
    process_->Kill();
    Fail(fmt::format("answered '{}', which is no object of JSON",
                     Quoted(Printable(*line))));
  }
  const auto text_of = [&answer](const char* key) -> std::string {
    const Json& value = answer.at(key);
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  if (answer.contains("skipped")) throw Unsupported(text_of("skipped"));
  if (answer.contains("error")) throw PeerError(text_of("error"));
  return answer;
}

}  // namespace attnbench
