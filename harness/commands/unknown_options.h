// Refuses what no command knows, with the names that are most alike. The parser
// only collects it: its own message would not name similar ones.
#ifndef ATTNBENCH_HARNESS_COMMANDS_UNKNOWN_OPTIONS_H_
#define ATTNBENCH_HARNESS_COMMANDS_UNKNOWN_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace attnbench {

// The commands for people.
std::vector<std::string> CommandNames(const CLI::App& app);

// Throws UserError for an option that the chosen command does not have. This
// comes before what the parser finds missing, excluded or wrong: that may be a
// misspelt option, or its value taken for an argument.
void CheckOptionsAreKnown(const CLI::App& app);

// Throws UserError for an option, a command or an argument that is not known.
void CheckNothingUnknown(const CLI::App& app);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_COMMANDS_UNKNOWN_OPTIONS_H_
