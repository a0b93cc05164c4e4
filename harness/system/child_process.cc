#include "harness/system/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "harness/base/error.h"
#include "harness/base/printable.h"

namespace attnbench {
namespace {

using Clock = ChildProcess::Clock;

constexpr std::size_t kMostWords = std::size_t{1} << 20;
constexpr std::chrono::hours kLongestPoll{1};

[[noreturn]] void FailToStart(const std::string& what, int error) {
  throw UserError(
      "a process",
      fmt::format("could not be started: {}: {}{}", Shown(what),
                  std::strerror(error), error == EAGAIN ? " (ulimit -u)" : ""));
}

void Check(int status, const char* what) {
  if (status < 0) FailToStart(what, errno);
}

int Poll(pollfd* wait, nfds_t count, Clock::time_point deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        std::min<Clock::duration>(deadline - Clock::now(), kLongestPoll));
    if (left.count() <= 0) return 0;
    const int ready = poll(wait, count, static_cast<int>(left.count()));
    if (ready > 0 || (ready < 0 && errno != EINTR)) return ready;
  }
}

}  // namespace

// An open file of the operating system.
class ChildProcess::Descriptor {
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

  // Appends what there is to read; false if there is nothing. Closes the file
  // at its end.
  bool ReadSome(std::string& to) {
    std::array<char, 1 << 16> block{};
    const ssize_t count = read(number_, block.data(), block.size());
    if (count < 0 && errno == EINTR) return true;
    if (count == 0) Close();
    if (count <= 0) return false;
    to.append(block.data(), static_cast<std::size_t>(count));
    return true;
  }

 private:
  int number_;
};

struct ChildProcess::Pipes {
  struct Ends {
    Descriptor ours;
    Descriptor theirs;
  };

  // The process writes to this.
  static Ends MakePipe() {
    std::array<int, 2> ends{};
    Check(pipe2(ends.data(), O_CLOEXEC), "pipe2");
    return {Descriptor(ends[0]), Descriptor(ends[1])};
  }

  // The process reads from this. It is a socket, because a write to one whose
  // reader is gone can give an error; with a pipe it would send SIGPIPE to this
  // program.
  static Ends MakeSocket() {
    std::array<int, 2> ends{};
    Check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()),
          "socketpair");
    return {Descriptor(ends[0]), Descriptor(ends[1])};
  }

  // Starts a process with their ends, and says why where there is none: an
  // error of the system, or of the program that is to be run. The process has a
  // group of its own, so all that it starts is stopped with it.
  int Spawn(const char* program, int third, char* const* arguments,
            char* const* environment, pid_t& id) const {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&files, input.theirs.number(), 0);
    posix_spawn_file_actions_adddup2(&files, output.theirs.number(), 1);
    posix_spawn_file_actions_adddup2(&files, errors.theirs.number(), 2);
    if (third >= 0) posix_spawn_file_actions_adddup2(&files, third, 3);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int error =
        posix_spawn(&id, program, &files, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
  }

  // Starts a process that kills the group that TellGuard names when this
  // program is gone for any reason: then nobody holds the other end of `alive`.
  // It comes before the process that it guards, as starting it takes long
  // enough for a program to be killed meanwhile.
  pid_t StartGuard() {
    const pid_t guard = fork();
    if (guard == 0) {
      setsid();  // no signals from the terminal
      dup2(alive.ours.number(), 0);
      close_range(1, ~0U, 0);
      pid_t group = 0;  // until TellGuard
      while (read(0, &group, sizeof(group)) != 0) {
      }
      if (group > 0) kill(-group, SIGKILL);
      _exit(0);
    }
    alive.ours.Close();
    return guard;
  }

  void TellGuard(pid_t group) const {
    [[maybe_unused]] const ssize_t written =
        write(alive.theirs.number(), &group, sizeof(group));
  }

  Ends alive = MakePipe();
  Ends input = MakeSocket();
  Ends output = MakePipe();
  Ends errors = MakePipe();
};

int ProcessEnd::Signal() const {
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

std::string ProcessEnd::Text() const {
  if (lingered.count() > 0) {
    return fmt::format("did not end by itself within {} s", lingered.count());
  }
  if (Signal() != 0) {
    return fmt::format("was killed by signal {} ({})", Signal(),
                       strsignal(Signal()));
  }
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

std::string Shown(const std::string& bytes) {
  return Printable(Shortened(bytes));
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> EnvironmentWith(std::vector<std::string> variables) {
  const std::size_t given = variables.size();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const std::string name = text.substr(0, text.find('=') + 1);
    const bool is_given = std::any_of(
        variables.begin(),
        variables.begin() + static_cast<std::ptrdiff_t>(given),
        [&name](const std::string& one) { return one.starts_with(name); });
    if (!is_given) variables.push_back(text);
  }
  return variables;
}

ChildProcess::ChildProcess(const Command& command)
    : pipes_(std::make_unique<Pipes>()),
      echo_errors_(command.echo_errors),
      longest_line_(command.longest_line),
      farewell_(command.farewell) {
  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> environment = command.environment;
  const std::vector<char*> argument_pointers = Pointers(arguments);
  const char* const program =
      command.program.empty() ? argument_pointers[0] : command.program.c_str();
  const std::vector<char*> environment_pointers = Pointers(environment);
  guard_ = pipes_->StartGuard();
  const int error =
      pipes_->Spawn(program, command.third, argument_pointers.data(),
                    environment_pointers.data(), id_);
  if (error != 0) {
    id_ = -1;
    EndGuard();
    FailToStart(program, error);
  }
  if (guard_ > 0) pipes_->TellGuard(id_);
  pipes_->input.theirs.Close();
  pipes_->output.theirs.Close();
  pipes_->errors.theirs.Close();
  // A process that is left behind may hold the pipe open for ever.
  fcntl(pipes_->errors.ours.number(), F_SETFL, O_NONBLOCK);
}

ChildProcess::~ChildProcess() { Stop(); }

void ChildProcess::Send(const std::string& text, Clock::time_point deadline) {
  const int input = pipes_->input.ours.number();
  std::size_t sent = 0;
  while (sent < text.size()) {
    pollfd wait{input, POLLOUT, 0};
    if (Poll(&wait, 1, deadline) <= 0) return;
    const ssize_t count = send(input, text.data() + sent, text.size() - sent,
                               MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return;
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
}

std::optional<std::string> ChildProcess::ReadLine(Clock::time_point deadline) {
  std::size_t searched = 0;
  while (!has_ended_) {
    const std::size_t end = unread_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    searched = unread_.size();
    if (searched > longest_line_) return std::exchange(unread_, "");
    std::array<pollfd, 2> wait = {
        pollfd{pipes_->output.ours.number(), POLLIN, 0},
        pollfd{pipes_->errors.ours.number(), POLLIN, 0}};
    if (Poll(wait.data(), wait.size(), deadline) <= 0) return std::nullopt;
    if (wait[1].revents != 0) ReadErrors();
    if (wait[0].revents != 0) {
      has_ended_ = !pipes_->output.ours.ReadSome(unread_);
    }
  }
  return std::nullopt;
}

ProcessEnd ChildProcess::Stop() {
  if (id_ < 0) return end_;
  pipes_->input.ours.Close();
  const Clock::time_point deadline = Clock::now() + farewell_;
  bool ended = false;
  while (!ended && !killed_ && Clock::now() < deadline) {
    ended = waitpid(id_, &end_.status, WNOHANG) == id_;
    if (!ended) usleep(1000);
  }
  if (!ended && !killed_) end_.lingered = farewell_;
  kill(-id_, SIGKILL);
  EndGuard();
  while (!ended && waitpid(id_, &end_.status, 0) < 0 && errno == EINTR) {
  }
  id_ = -1;
  ReadErrors();
  return end_;
}

void ChildProcess::EndGuard() {
  if (guard_ <= 0) return;
  kill(guard_, SIGKILL);
  waitpid(guard_, nullptr, 0);
  guard_ = -1;
}

void ChildProcess::Kill() {
  killed_ = true;
  kill(-id_, SIGKILL);
}

void ChildProcess::End(int signal) {
  kill(id_, signal);
  kill(id_, SIGCONT);
}

void ChildProcess::ReadErrors() {
  std::string words;
  // A process that writes without end may write as fast as this reads.
  while (words.size() < kMostWords && pipes_->errors.ours.ReadSome(words)) {
  }
  if (echo_errors_) std::fputs(PrintableLines(words).c_str(), stderr);
  said_ += words;
  if (said_.size() > kMostWords) said_.erase(0, said_.size() / 2);
}

std::string ChildProcess::LastWords() const {
  const std::size_t last = said_.find_last_not_of(" \r\n");
  if (last == std::string::npos) return {};
  const std::size_t first = said_.find_last_of('\n', last);
  return Shown(
      said_.substr(first + 1, last - (first + 1) + 1));  // npos + 1 is 0
}

}  // namespace attnbench
