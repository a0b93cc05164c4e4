// Starts another program that reads lines and writes lines: a peer (peer.h), or
// this program itself as a worker (worker.h).
#ifndef ATTNBENCH_HARNESS_SYSTEM_CHILD_PROCESS_H_
#define ATTNBENCH_HARNESS_SYSTEM_CHILD_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attnbench {

// The way in which a process ended.
struct ProcessEnd {
  int status = 0;  // as from waitpid
  // It did not end by itself in so long, so Stop killed it; 0 otherwise.
  std::chrono::seconds lingered{0};

  bool IsGood() const { return status == 0; }
  int Signal() const;        // 0 if it ended by itself
  std::string Text() const;  // "was killed by signal 11 (Segmentation fault)"
};

// Makes of any bytes that a program wrote a text that JSON and a line of a
// message can hold (Printable), no longer than anybody reads.
std::string Shown(const std::string& bytes);

// Gives what the system wants of a program's arguments or environment, with a
// null at the end, as long as the texts are there.
std::vector<char*> Pointers(std::vector<std::string>& texts);

// Gives our own environment with these variables ("NAME=value") replaced.
std::vector<std::string> EnvironmentWith(std::vector<std::string> variables);

// This class is not thread-safe. Once the destructor returns, the process is
// gone, and so are the processes of its group. If this program ends for any
// reason, a process that waits for that (the guard) kills the group.
class ChildProcess {
 public:
  using Clock = std::chrono::steady_clock;

  struct Command {
    // The first is the program's path, unless `program` names another one.
    std::vector<std::string> arguments;
    std::string program = {};
    std::vector<std::string> environment;
    std::size_t longest_line = std::size_t{1} << 26;  // of its output, in bytes
    int third = -1;            // the process's file number 3; -1: none
    bool echo_errors = false;  // show its stderr on ours, too
    // A process that should end with its input has this long.
    std::chrono::seconds farewell{2};
  };

  // Throws UserError if the system has no room for one more process, or the
  // program cannot be started.
  explicit ChildProcess(const Command& command);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Gives up if nobody reads, or not by the deadline.
  void Send(const std::string& text, Clock::time_point deadline);

  // The next line without its end, or the beginning of a line that is too long;
  // none if the process closed its output, or wrote no line by the deadline.
  std::optional<std::string> ReadLine(Clock::time_point deadline);
  // Whether the output is at its end: no line will come.
  bool HasEnded() const { return has_ended_; }

  // Lets the process end by itself, kills what is left, and says how it ended.
  ProcessEnd Stop();

  // Kills the process, so that Stop does not wait for it.
  void Kill();

  // Sends a signal that ends the process, even if somebody has stopped it.
  void End(int signal);

  // The last line on stderr that is not blank, as from Shown.
  std::string LastWords() const;

 private:
  class Descriptor;
  struct Pipes;

  void ReadErrors();
  void EndGuard();

  std::unique_ptr<Pipes> pipes_;
  const bool echo_errors_;
  const std::size_t longest_line_;
  const std::chrono::seconds farewell_;
  pid_t id_ = -1;     // -1: stopped
  pid_t guard_ = -1;  // -1 if the system had no room for it
  ProcessEnd end_;
  bool killed_ = false;
  bool has_ended_ = false;
  std::string unread_;
  std::string said_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SYSTEM_CHILD_PROCESS_H_
