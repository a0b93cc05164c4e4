// attnbench report: runs plots/report.py, which makes the page. The page is
// made in Python because its figures are: a second way of drawing, in C++,
// would be another picture of the same numbers.
#include <memory>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/commands/commands.h"
#include "harness/commands/options.h"
#include "harness/system/python.h"

namespace attnbench {
namespace {

struct ReportArguments {
  std::vector<std::string> results;
  std::string output;
  std::string title;
  bool force = false;
};

int RunReport(const ReportArguments& arguments) {
  if (arguments.results.empty()) {
    throw UserError("report", "a result is needed, e.g. report mine.json");
  }
  if (arguments.output.empty()) {
    throw UserError("--output", "is needed, e.g. -o report.html");
  }
  std::vector<std::string> options = {"--output=" + arguments.output};
  if (!arguments.title.empty()) {
    options.push_back("--title=" + arguments.title);
  }
  if (arguments.force) options.emplace_back("--force");
  options.emplace_back("--");
  options.insert(options.end(), arguments.results.begin(),
                 arguments.results.end());
  return RunPython("report", "plots/report.py", options);
}

}  // namespace

void AddReport(CLI::App& app, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "report",
      "one page of HTML that shows results: claims, figures, validity, cells");
  const auto arguments = std::make_shared<ReportArguments>();
  command
      ->add_option("results", arguments->results,
                   "what run-sweep, verify, stability, roofline or claims "
                   "wrote, e.g. report sweep.json verify.json")
      ->type_name("RESULT...");
  AddOutput(*command, "the page", "report.html", arguments->output,
            arguments->force);
  command
      ->add_option("--title", arguments->title,
                   "its heading, e.g. --title 'After the change'")
      ->type_name("TEXT");
  AddPythonNote(*command);
  command->callback([&run, arguments] {
    run = [arguments] { return RunReport(*arguments); };
  });
}

}  // namespace attnbench
