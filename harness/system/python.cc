#include "harness/system/python.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string_view>

#include "harness/base/error.h"
#include "harness/system/child_process.h"
#include "harness/system/source_tree.h"

namespace attnbench {
namespace {

constexpr char kVariable[] = "ATTNBENCH_PYTHON";
constexpr char kStart[] = "python/attnbench/analysis/start.py";
// It takes a tenth of a second, more from a file system that is far away.
constexpr std::chrono::seconds kLongestLook{60};

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool CanRun(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

bool HasPackages(const std::string& python, const std::string& script,
                 const std::vector<std::string>& packages) {
  std::vector<std::string> line = {python, script};
  line.insert(line.end(), packages.begin(), packages.end());
  try {
    ChildProcess process({.arguments = line,
                          .environment = PythonEnvironment(),
                          .farewell = kLongestLook});
    return process.Stop().IsGood();
  } catch (const UserError&) {
    return false;  // it is no program of this machine
  }
}

std::vector<std::string> Line(const std::string& command,
                              const std::string& script,
                              const std::vector<std::string>& arguments,
                              const std::vector<std::string>& packages = {}) {
  std::vector<std::string> line = {FindPython(command, packages),
                                   FindInSources(command, script)};
  line.insert(line.end(), arguments.begin(), arguments.end());
  return line;
}

[[noreturn]] void FailToRun(const std::string& command,
                            const std::string& python, int error) {
  const std::string remedy =
      error == ENOENT ? command + " needs Python 3 (apt-get install python3; " +
                            kVariable + " names one)"
      : error == EAGAIN ? command + " needs one more process; raise ulimit -u"
                        : command + " needs to run it";
  throw UserError(python, fmt::format("cannot be run: {}; {}",
                                      std::strerror(error), remedy));
}

// Opens a file in memory that holds the text: unlike a pipe it needs nobody who
// reads while we write. Gives -1 where there is no room.
int FileWith(std::string_view text) {
  const int file = memfd_create("attnbench-input", MFD_CLOEXEC);
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0) return -1;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  lseek(file, 0, SEEK_SET);
  return file;
}

}  // namespace

std::string FindPython(const std::string& command,
                       const std::vector<std::string>& packages) {
  if (std::string named = Variable(kVariable); !named.empty()) return named;
  for (const char* const variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string folder = Variable(variable);
    std::string python = folder + "/bin/python3";
    if (folder.empty() || !CanRun(python)) continue;
    if (HasPackages(python, FindInSources(command, kStart), packages)) {
      return python;
    }
  }
  return CanRun(ATTNBENCH_PYTHON) ? ATTNBENCH_PYTHON : "python3";
}

std::vector<std::string> PythonEnvironment() {
  // Python takes an empty variable for none.
  std::vector<std::string> variables = {
      "PYTHONINSPECT=", "PYTHONOPTIMIZE=",
      std::string(kProgramVariable) + "=" + ProgramPath().string(),
      std::string(kVersionVariable) + "=" + ATTNBENCH_VERSION};
  if (Variable(kVariable).empty()) variables.emplace_back("PYTHONHOME=");
  return EnvironmentWith(variables);
}

int RunPython(const std::string& command, const std::string& script,
              const std::vector<std::string>& arguments,
              const std::string& input) {
  std::vector<std::string> line = Line(command, script, arguments);
  std::vector<std::string> environment = PythonEnvironment();
  const std::vector<char*> arguments_of_it = Pointers(line);
  const std::vector<char*> environment_of_it = Pointers(environment);
  std::cout.flush();
  const int file = FileWith(input);
  if (file < 0) FailToRun(command, line[0], errno);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, file, STDIN_FILENO);
  pid_t process = 0;
  const int error =
      posix_spawnp(&process, arguments_of_it[0], &files, nullptr,
                   arguments_of_it.data(), environment_of_it.data());
  posix_spawn_file_actions_destroy(&files);
  close(file);
  if (error != 0) FailToRun(command, line[0], error);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  // This is the exit code that a shell gives for a signal.
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void BecomePython(const std::string& command, const std::string& script,
                  const std::vector<std::string>& arguments,
                  const std::string& command_line,
                  const std::vector<std::string>& packages) {
  std::vector<std::string> line = Line(command, script, arguments, packages);
  setenv(kTypedVariable, command_line.c_str(), 1);
  std::vector<std::string> variables = PythonEnvironment();
  const std::vector<char*> arguments_of_it = Pointers(line);
  const std::vector<char*> variables_of_it = Pointers(variables);
  execvpe(arguments_of_it[0], arguments_of_it.data(), variables_of_it.data());
  FailToRun(command, line[0], errno);
}

}  // namespace attnbench
