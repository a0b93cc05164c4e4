// Options that several commands have.
#ifndef ATTNBENCH_HARNESS_COMMANDS_OPTIONS_H_
#define ATTNBENCH_HARNESS_COMMANDS_OPTIONS_H_

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/parse_text.h"
#include "harness/stats/change.h"

namespace attnbench {

// Gives a command an option whose value parse(text, name) makes of what was
// typed; CLI11's own messages would not say what is allowed. `value` stays as
// it is where the option is not given.
template <class Value, class Parse>
CLI::Option* AddParsed(CLI::App& command, const std::string& names,
                       Value& value, const char* type, const std::string& help,
                       const Parse& parse) {
  const std::string name = names.substr(names.find(',') + 1);
  return command
      .add_option_function<std::string>(
          names,
          [&value, parse, name](const std::string& text) {
            value = parse(text, name);
          },
          help)
      ->type_name(type);
}

// An option whose value is a whole number in [least, greatest].
template <class Number>
CLI::Option* AddNumber(CLI::App& command, const std::string& names,
                       Number& value, std::int64_t least, std::int64_t greatest,
                       const std::string& help) {
  return AddParsed(
      command, names, value, "N", help,
      [=](const std::string& text, const std::string& name) {
        return static_cast<Number>(ParseInteger(text, least, greatest, name));
      });
}

// An option whose value is between 0 and 1, such as `example`.
inline CLI::Option* AddShare(CLI::App& command, const std::string& names,
                             auto& value, const char* type,
                             const std::string& example,
                             const std::string& help) {
  return AddParsed(command, names, value, type, help,
                   [=](const std::string& text, const std::string& name) {
                     return ParseShare(text, name, example);
                   });
}

// The option --seed of a command.
template <class Number>
CLI::Option* AddSeed(CLI::App& command, const std::string& help,
                     Number& value) {
  return AddNumber(command, "--seed", value, 0, kGreatestSeed,
                   fmt::format("from 0 to {}, {}", kGreatestSeed, help))
      ->default_str("1");
}

// Adds -o and --force, and gives -o; `what` describes the file, `example` is
// its name in examples.
inline CLI::Option* AddOutput(CLI::App& command, const std::string& what,
                              const std::string& example, std::string& output,
                              bool& force) {
  command.add_flag("--force", force,
                   "replace the output file, e.g. -o " + example + " --force");
  return command
      .add_option("-o,--output", output,
                  what + " (a file, never '-' or a pipe), e.g. -o " + example)
      ->type_name("FILE");
}

// Throws UserError if the value of --format is none of them.
inline void CheckFormat(const std::string& format,
                        const std::vector<std::string>& formats) {
  if (Contains(formats, format)) return;
  throw UserError("--format", UnknownName("format", format, formats));
}

// How commands that compare results answer.
inline const std::vector<std::string> kReportFormats = {"text", "markdown",
                                                        "json", "junit"};

// How a command prints its answer: --format NAME, or --json.
struct Format {
  std::string name = "text";
  bool json = false;

  // Throws UserError if it is none of them.
  std::string Of(const std::vector<std::string>& formats) const {
    std::string chosen = json ? "json" : name;
    CheckFormat(chosen, formats);
    return chosen;
  }
};

// `help` says what there is.
inline void AddFormat(CLI::App& command, const std::string& help,
                      Format& format) {
  CLI::Option* const option = command.add_option("--format", format.name, help)
                                  ->type_name("FORMAT")
                                  ->default_str("text");
  command
      .add_flag("--json", format.json, "the same as --format json, e.g. --json")
      ->excludes(option);
}

inline constexpr char kReportFormatHelp[] =
    "text, markdown (for a pull request), json or junit (XML for CI), e.g. "
    "--format markdown";

// The options of commands that compare times: how often they may be wrong, and
// how small a change does not matter.
struct ChangeOptions {
  double level = kDefaultLevel;
  double margin = kDefaultMargin;
};

inline constexpr char kLevelHelp[] =
    "chance of a false verdict anywhere in the table, e.g. --level 0.01 "
    "(default 0.05)";
inline constexpr char kMarginHelp[] =
    "smallest change of a time that matters, e.g. --margin 0.1 for 10 % "
    "(default 0.05)";

inline void AddChange(CLI::App& command, ChangeOptions& change) {
  AddShare(command, "--level", change.level, "P", "0.05", kLevelHelp);
  AddShare(command, "--margin", change.margin, "X", "0.05", kMarginHelp);
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_COMMANDS_OPTIONS_H_
