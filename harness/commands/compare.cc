// attnbench compare A B: compares two results, with a verdict on every cell; or
// two programs, which it lets measure in turn.
#include "harness/answers/compare.h"

#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/exit_code.h"
#include "harness/base/printable.h"
#include "harness/campaign/in_turn.h"
#include "harness/commands/commands.h"
#include "harness/commands/options.h"
#include "harness/commands/sweep_options.h"
#include "harness/commands/sweep_plan.h"
#include "harness/system/relinks.h"

namespace attnbench {
namespace {

struct CompareArguments {
  std::string a;
  std::string b;
  bool programs = false;
  SweepArguments sweep;  // of two programs
  ChangeOptions change;
  Format format;
};

std::string Formatted(const Comparison& comparison, const std::string& format) {
  if (format == "json") return JsonText(ToJson(comparison));
  if (format == "junit") return CompareJUnit(comparison);
  return PrintableLines(format == "markdown" ? CompareMarkdown(comparison)
                                             : CompareText(comparison));
}

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

// None if the user interrupts.
std::optional<Comparison> ComparePrograms(const CompareArguments& arguments,
                                          const CompareOptions& options) {
  SweepArguments asked = arguments.sweep;
  if (asked.experiment.empty()) {
    throw UserError("--programs",
                    "needs an experiment to measure, e.g. compare --programs "
                    "build/old build/release experiments/ci.json");
  }
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
  if (!results) return {};
  return ComparePaired((*results)[0], (*results)[1], options);
}

int RunCompare(const CompareArguments& arguments) {
  const CompareOptions options{.level = arguments.change.level,
                               .margin = arguments.change.margin};
  const std::string format = arguments.format.Of(kReportFormats);
  const auto comparison =
      arguments.programs ? ComparePrograms(arguments, options)
                         : CompareResults(ReadResult(arguments.a),
                                          ReadResult(arguments.b), options);
  if (!comparison) {
    std::cerr << "attnbench: compare: interrupted\n";
    return kInterrupted;
  }
  std::cout << Formatted(*comparison, format);
  return CompareExitCode(*comparison);
}

}  // namespace

void AddCompare(CLI::App& app, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "compare",
      "two results: FASTER, SLOWER, SAME or AMBIGUOUS for every cell");
  const auto arguments = std::make_shared<CompareArguments>();
  command->add_option("A", arguments->a, "the result before, e.g. before.json")
      ->type_name("FILE")
      ->required();
  command->add_option("B", arguments->b, "the result after, e.g. after.json")
      ->type_name("FILE")
      ->required();
  CLI::Option* const experiment =
      command
          ->add_option("EXPERIMENT", arguments->sweep.experiment,
                       "with --programs: the experiment to measure, e.g. "
                       "experiments/ci.json")
          ->type_name("FILE");
  CLI::Option* const programs = command->add_flag(
      "--programs", arguments->programs,
      "A and B are two programs, or build folders, whose programs are linked "
      "again and again in other orders; both measure EXPERIMENT in turn, e.g. "
      "compare --programs build/old build/release experiments/ci.json");
  experiment->needs(programs);
  AddNumber(*command, "--processes", arguments->sweep.processes, 1,
            kMostProcesses, "of each program, e.g. --processes 40 (default 20)")
      ->needs(programs);
  AddNumber(*command, "--repetitions", arguments->sweep.repetitions, 1,
            kMostRepetitions,
            "rounds of a process, e.g. --repetitions 10 (default 5)")
      ->needs(programs);
  AddNumber(*command, "--cell-limit", arguments->sweep.cell_limit_s, 1,
            kMostSeconds,
            "seconds that a cell may take in one process, e.g. --cell-limit 60 "
            "(default 3600); a program has them, but 60 at most, to say what "
            "it is, and 600 at most to begin a point")
      ->needs(programs);
  command
      ->add_flag("--quick", arguments->sweep.quick,
                 "the quick profile of the experiment, e.g. --quick")
      ->needs(programs);
  AddChange(*command, arguments->change);
  AddFormat(*command, kReportFormatHelp, arguments->format);
  OnAsked(*command, run, [arguments] { return RunCompare(*arguments); });
}

}  // namespace attnbench
