// attnbench report: runs plots/report.py, which makes the page. Figures are
// drawn by Python's matplotlib, so the page is made where they are; a second
// way of drawing, in C++, would be another picture of the same numbers.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "harness/commands/commands.h"
#include "harness/commands/output_options.h"
#include "harness/error.h"
#include "harness/source_tree.h"

namespace attnbench {
namespace {

struct Arguments {
  std::vector<std::string> results;
  std::string output;
  std::string title;
  bool force = false;
};

// Becomes the script: its messages and exit codes are the command's.
[[noreturn]] void Become(std::vector<std::string> command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  throw UserError(command[0],
                  fmt::format("cannot be run: {}; the report needs Python with "
                              "matplotlib and pandas",
                              std::strerror(errno)));
}

int RunReport(const Arguments& arguments) {
  if (arguments.results.empty()) {
    throw UserError("report", "a result is needed, e.g. report mine.json");
  }
  if (arguments.output.empty()) {
    throw UserError("--output", "is needed, e.g. -o report.html");
  }
  std::vector<std::string> command = {
      FindPython(), FindInSources("report", "plots/report.py"),
      "--output=" + arguments.output};
  if (!arguments.title.empty()) {
    command.push_back("--title=" + arguments.title);
  }
  if (arguments.force) command.emplace_back("--force");
  command.emplace_back("--");
  command.insert(command.end(), arguments.results.begin(),
                 arguments.results.end());
  std::cout.flush();
  Become(std::move(command));
}

}  // namespace

void AddReport(CLI::App& app, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "report",
      "one page of HTML that shows results: validity, figures, cells");
  const auto arguments = std::make_shared<Arguments>();
  command
      ->add_option(
          "results", arguments->results,
          "what run-sweep, verify, stability, roofline, decoder or claims "
          "wrote, e.g. report sweep.json verify.json")
      ->type_name("RESULT...");
  AddOutput(*command, "the page", "report.html", arguments->output,
            arguments->force);
  command
      ->add_option("--title", arguments->title,
                   "its heading, e.g. --title 'After the change'")
      ->type_name("TEXT");
  command->callback([&run, arguments] {
    run = [arguments] { return RunReport(*arguments); };
  });
}

}  // namespace attnbench
