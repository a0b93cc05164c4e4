#include "harness/system/python.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "harness/base/error.h"
#include "harness/system/source_tree.h"

namespace attnbench {

int RunPython(const std::string& command, const std::string& script,
              const std::vector<std::string>& arguments) {
  std::vector<std::string> line = {FindPython(),
                                   FindInSources(command, script)};
  line.insert(line.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(line.size() + 1);
  for (std::string& argument : line) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  std::cout.flush();
  pid_t process = 0;
  const int error = posix_spawnp(&process, pointers[0], nullptr, nullptr,
                                 pointers.data(), environ);
  if (error != 0) {
    const std::string remedy =
        error == ENOENT
            ? command + " needs Python 3 (scripts/setup.sh installs it)"
        : error == EAGAIN ? command + " needs one more process; raise ulimit -u"
                          : command + " needs to run it";
    throw UserError(line[0], fmt::format("cannot be run: {}; {}",
                                         std::strerror(error), remedy));
  }
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  // This is the exit code that a shell gives for a signal.
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace attnbench
