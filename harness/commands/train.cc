// attnbench train: starts attnbench-train, which stands beside this program. It
// is a program of its own because libtorch takes as long to load as a short
// sweep to run, and because this one builds without it.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/commands/commands.h"
#include "harness/system/source_tree.h"

namespace attnbench {

int BecomeTrainer(std::vector<std::string> arguments) {
  const std::string program =
      (ProgramPath().parent_path() / "attnbench-train").string();
  std::vector<char*> pointers = {const_cast<char*>("attnbench-train")};
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  throw UserError("train", "cannot start " + program + ": " +
                               std::strerror(errno) +
                               "; it is built where libtorch and g++ are");
}

void AddTrain(CLI::App& app) {
  app.add_subcommand(
      "train",
      "trains small models with any attention and tells how well they decode; "
      "train --help has its options");
}

}  // namespace attnbench
