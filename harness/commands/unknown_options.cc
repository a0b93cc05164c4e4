#include "harness/commands/unknown_options.h"

#include <fmt/format.h>

#include "harness/base/error.h"
#include "harness/base/printable.h"

namespace attnbench {
namespace {

// The options of a command, in both spellings.
std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
    for (const std::string& name : option->get_snames()) {
      names.push_back("-" + name);
    }
  }
  return names;
}

// The command that was chosen, or the program.
const CLI::App& ChosenOf(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : *chosen[0];
}

// The parser also leaves "--", behind which words are no options.
std::vector<std::string> UnknownIn(const CLI::App& app) {
  std::vector<std::string> unknown = app.remaining(true);
  std::erase(unknown, "--");
  return unknown;
}

void CheckIsNoOption(const std::string& unknown, const CLI::App& command) {
  const std::string name = unknown.substr(0, unknown.find('='));
  if (name.size() <= 1 || !name.starts_with('-')) return;
  throw UserError(command.get_name(),
                  UnknownName("option", name, OptionNames(command)));
}

}  // namespace

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    // Commands without a group are for the program itself.
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

void CheckOptionsAreKnown(const CLI::App& app) {
  for (const std::string& unknown : UnknownIn(app)) {
    CheckIsNoOption(unknown, ChosenOf(app));
  }
}

void CheckNothingUnknown(const CLI::App& app) {
  const std::vector<std::string> unknown = UnknownIn(app);
  if (unknown.empty()) return;
  const CLI::App& command = ChosenOf(app);
  CheckIsNoOption(unknown[0], command);
  if (&command == &app) {
    throw UserError(
        "command line",
        UnknownName("command", unknown[0].substr(0, unknown[0].find('=')),
                    CommandNames(app)));
  }
  throw UserError(command.get_name(),
                  fmt::format("unexpected argument '{}'; {} --help lists what "
                              "is allowed",
                              Shortened(unknown[0]), command.get_name()));
}

}  // namespace attnbench
