// attnbench measure-in-turn A B EXPERIMENT: lets two programs measure a sweep
// in turn, for `attnbench compare --programs`, which is in Python.
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "harness/base/error.h"
#include "harness/base/exit_code.h"
#include "harness/campaign/in_turn.h"
#include "harness/commands/commands.h"
#include "harness/commands/options.h"
#include "harness/commands/sweep_options.h"
#include "harness/commands/sweep_plan.h"
#include "harness/system/relinks.h"

namespace attnbench {
namespace {

struct InTurnArguments {
  std::string a;
  std::string b;
  SweepArguments sweep;
};

// Processes and rounds of two programs, unless options say otherwise.
constexpr int kProcesses = 20;
constexpr int kRounds = 5;

// A program, or so many relinks of the one in a build folder.
ProgramSide SideAt(const std::string& path, int builds) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return {path, RelinksOf(path, builds, "compare --programs")};
  }
  if (!std::filesystem::is_regular_file(path, error)) {
    throw UserError(path, "is no program and no build folder");
  }
  return {path, {std::filesystem::absolute(path).string()}};
}

int RunInTurn(const InTurnArguments& arguments) {
  SweepArguments asked = arguments.sweep;
  if (!asked.processes) asked.processes = kProcesses;
  if (!asked.repetitions) asked.repetitions = kRounds;
  const SweepRequest request = MakeRequest(asked, {});
  if (request.processes < 2) {
    throw UserError("--processes", "is 1, and --programs needs 2 at least");
  }
  const std::array<ProgramSide, 2> sides = {
      SideAt(arguments.a, request.processes),
      SideAt(arguments.b, request.processes)};
  MeasurerOptions measurer;
  measurer.cell_limit_s = asked.cell_limit_s;
  const auto results = MeasureInTurn(PlanSweep(request), sides, measurer);
  if (!results) return kInterrupted;
  Json both = Json::array();
  for (const ReadSweep& side : *results) both.push_back(ToJson(side.result));
  std::cout << JsonText(both);
  return kGood;
}

}  // namespace

void AddMeasureInTurn(CLI::App& app, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "measure-in-turn", "measure a sweep by two programs in turn");
  command->group("");
  const auto arguments = std::make_shared<InTurnArguments>();
  SweepArguments& sweep = arguments->sweep;
  command->add_option("A", arguments->a)->required();
  command->add_option("B", arguments->b)->required();
  command->add_option("EXPERIMENT", sweep.experiment)->required();
  AddNumber(*command, "--processes", sweep.processes, 1, kMostProcesses, "");
  AddNumber(*command, "--repetitions", sweep.repetitions, 1, kMostRepetitions,
            "");
  AddNumber(*command, "--cell-limit", sweep.cell_limit_s, 1, kMostSeconds, "");
  command->add_flag("--quick", sweep.quick);
  OnAsked(*command, run, [arguments] { return RunInTurn(*arguments); });
}

}  // namespace attnbench
