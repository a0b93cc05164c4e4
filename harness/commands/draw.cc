// attnbench draw: runs plots/draw.py, which draws figures.
#include <memory>
#include <string>
#include <vector>

#include "harness/commands/commands.h"
#include "harness/commands/options.h"
#include "harness/system/python.h"

namespace attnbench {
namespace {

struct DrawArguments {
  std::vector<std::string> results;
  std::string figure;
  std::string folder = ".";
  bool list = false;
};

int RunDraw(const DrawArguments& arguments) {
  std::vector<std::string> options = {"--output=" + arguments.folder};
  if (!arguments.figure.empty()) {
    options.push_back("--figure=" + arguments.figure);
  }
  if (arguments.list) options.emplace_back("--list");
  options.emplace_back("--");
  options.insert(options.end(), arguments.results.begin(),
                 arguments.results.end());
  return RunPython("draw", "plots/draw.py", options);
}

}  // namespace

void AddDraw(CLI::App& app, Command& run) {
  CLI::App* const command =
      app.add_subcommand("draw", "figures of results, as PNG and SVG");
  const auto arguments = std::make_shared<DrawArguments>();
  command
      ->add_option(
          "results", arguments->results,
          "what run-sweep, advise, stability, diagnose, compare "
          "--json, decode, expect or train wrote, e.g. draw sweep.json")
      ->type_name("RESULT...");
  command
      ->add_option("--figure", arguments->figure,
                   "only this figure, e.g. --figure mocha_figure3 (default: "
                   "every figure that fits)")
      ->type_name("NAME");
  command
      ->add_option("-o,--output", arguments->folder,
                   "a folder that is there, e.g. -o figures (default: here)")
      ->type_name("FOLDER");
  command->add_flag("--list", arguments->list,
                    "only list the figures, and what each needs, e.g. draw "
                    "--list");
  AddPythonNote(*command);
  command->callback(
      [&run, arguments] { run = [arguments] { return RunDraw(*arguments); }; });
}

}  // namespace attnbench
