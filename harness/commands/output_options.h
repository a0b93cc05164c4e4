// Where a command writes, and whether it may replace what is there: the same
// two options wherever a command writes one file.
#ifndef ATTNBENCH_HARNESS_COMMANDS_OUTPUT_OPTIONS_H_
#define ATTNBENCH_HARNESS_COMMANDS_OUTPUT_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <string>

namespace attnbench {

// -o and --force; `what` is the file that is written, `example` its name in
// examples. Gives -o.
inline CLI::Option* AddOutput(CLI::App& command, const std::string& what,
                              const std::string& example, std::string& output,
                              bool& force) {
  command.add_flag("--force", force,
                   "replace the output file, e.g. -o " + example + " --force");
  return command
      .add_option("-o,--output", output, what + ", e.g. -o " + example)
      ->type_name("FILE");
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_COMMANDS_OUTPUT_OPTIONS_H_
