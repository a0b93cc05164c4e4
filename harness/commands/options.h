// Options that several commands have.
#ifndef ATTNBENCH_HARNESS_COMMANDS_OPTIONS_H_
#define ATTNBENCH_HARNESS_COMMANDS_OPTIONS_H_

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/parse_text.h"
#include "harness/stats/change.h"

namespace attnbench {

// Gives a command the option --seed, whose value ParseSeed takes.
inline void AddSeed(CLI::App& command, const std::string& help,
                    std::string& value) {
  command
      .add_option("--seed", value,
                  fmt::format("from 0 to {}, {}", kGreatestSeed, help))
      ->type_name("N")
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
class ChangeOptions {
 public:
  // This outlives the command.
  void AddTo(CLI::App& command) {
    command
        .add_option("--level", level_,
                    "chance of a false verdict anywhere in the table, e.g. "
                    "--level 0.01 (default 0.05)")
        ->type_name("P");
    command
        .add_option("--margin", margin_,
                    "smallest change of a time that matters, e.g. --margin 0.1 "
                    "for 10 % (default 0.05)")
        ->type_name("X");
  }

  // Both throw UserError for text that is no number between 0 and 1.
  double Level() const { return Parse(level_, kDefaultLevel, "--level"); }
  double Margin() const { return Parse(margin_, kDefaultMargin, "--margin"); }

 private:
  static double Parse(const std::string& text, double by_default,
                      const char* option) {
    return text.empty() ? by_default : ParseShare(text, option, "0.05");
  }

  std::string level_;
  std::string margin_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_COMMANDS_OPTIONS_H_
