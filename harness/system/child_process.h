// Another program, started by this one, that reads lines and writes lines: a
// peer (peer.h), and this program itself as a worker (worker.h).
#ifndef ATTNBENCH_HARNESS_SYSTEM_CHILD_PROCESS_H_
#define ATTNBENCH_HARNESS_SYSTEM_CHILD_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attnbench {

// How a process came to its end.
struct ProcessEnd {
  int status = 0;  // as waitpid tells

  bool IsGood() const { return status == 0; }
  int Signal() const;        // 0: it ended by itself
  std::string Text() const;  // "was killed by signal 11 (Segmentation fault)"
};

// A text that JSON and a line of a message can hold, whatever bytes a program
// wrote, and no longer than anybody reads.
std::string Shown(const std::string& bytes);

// Gives our own environment, with these ("NAME=value") in the place of ours.
std::vector<std::string> EnvironmentWith(std::vector<std::string> variables);

// Not thread-safe. Once the destructor returns, the process is gone, and so is
// whatever it started that has not left its group. Where this program is gone,
// however that came, a process that waits for that (the guard) kills the group.
class ChildProcess {
 public:
  using Clock = std::chrono::steady_clock;

  struct Command {
    // The first is the program's path, where `program` says no other.
    std::vector<std::string> arguments;
    std::string program = {};
    std::vector<std::string> environment;
    std::size_t longest_line = std::size_t{1} << 26;  // of its output, in bytes
    int third = -1;  // the open file that it has as number 3; -1: none
    bool echo_errors = false;  // its stderr shows on ours, too
  };

  // Throws std::runtime_error where the system has no room for one more. A
  // program that cannot be started ends with status 127.
  explicit ChildProcess(const Command& command);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Gives up where nobody reads, or not by then.
  void Send(const std::string& text, Clock::time_point deadline);

  // The next line without its end, or what there is of one that is too long;
  // none where the process closed its output, or
  // wrote none by then.
  std::optional<std::string> ReadLine(Clock::time_point deadline);
  // Whether the output is at its end: no line will come.
  bool HasEnded() const { return has_ended_; }

  // Lets the process end by itself, kills what is left, and says how it ended.
  ProcessEnd Stop();

  // Stop will not wait for it.
  void Kill();

  // The last line on stderr that has anything in it, as Shown.
  std::string LastWords() const;

 private:
  class Descriptor;
  struct Pipes;

  void ReadErrors();

  std::unique_ptr<Pipes> pipes_;
  const bool echo_errors_;
  const std::size_t longest_line_;
  pid_t id_ = -1;     // -1: stopped
  pid_t guard_ = -1;  // -1: the system had no room for it
  ProcessEnd end_;
  bool killed_ = false;
  bool has_ended_ = false;
  std::string unread_;
  std::string said_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SYSTEM_CHILD_PROCESS_H_
