// attnbench train: starts attnbench-train, which stands beside this program. It
// is a program of its own because libtorch takes as long to load as a short
// sweep to run, and because this one builds without it.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/commands/commands.h"
#include "harness/system/source_tree.h"
#include "harness/training/train_options.h"

namespace attnbench {
namespace {

// Turns this process into that program; returns only by throwing.
[[noreturn]] void BecomeTrainer(std::vector<std::string> arguments) {
  const std::string program =
      (ProgramPath().parent_path() / "attnbench-train").string();
  arguments.insert(arguments.begin(), "attnbench-train");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  throw UserError("train", "cannot start " + program + ": " +
                               std::strerror(errno) +
                               "; it is built where libtorch and g++ are, as "
                               "target attnbench-train");
}

}  // namespace

void AddTrain(CLI::App& app, const std::vector<std::string>& arguments,
              Command& run) {
  CLI::App* const command = app.add_subcommand(
      "train",
      "trains small models with any attention, and tells how well they decode");
  const auto options = std::make_shared<TrainOptions>();
  AddTrainOptions(*command, *options);
  OnAsked(*command, run, [arguments]() -> int {
    const auto name = std::ranges::find(arguments, "train");
    BecomeTrainer({name + 1, arguments.end()});
  });
}

}  // namespace attnbench
