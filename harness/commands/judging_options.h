// The options of commands that judge times: how often they may be wrong, and
// how small a change is none.
#ifndef ATTNBENCH_HARNESS_COMMANDS_JUDGING_OPTIONS_H_
#define ATTNBENCH_HARNESS_COMMANDS_JUDGING_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <string>

#include "harness/axes.h"
#include "harness/judge.h"

namespace attnbench {

class JudgingOptions {
 public:
  // Outlives the command.
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

  // Throw UserError for what is no number, or not between 0 and 1.
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

#endif  // ATTNBENCH_HARNESS_COMMANDS_JUDGING_OPTIONS_H_
