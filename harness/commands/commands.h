// The commands of the program, one source file each. A command adds itself to
// the command line as a subcommand; if the user asks for it, the parser puts
// its work into `run`. main.cc then calls `run`, so that every error passes the
// one place that makes exit codes of errors, and tests can parse without
// running anything.
#ifndef ATTNBENCH_HARNESS_COMMANDS_COMMANDS_H_
#define ATTNBENCH_HARNESS_COMMANDS_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace attnbench {

// The work of a command; gives the exit code. Throws UserError.
using Command = std::function<int()>;

// Puts `work` into `run` once the parser meets the command.
inline void OnAsked(CLI::App& command, Command& run, const Command& work) {
  command.callback([&run, work] { run = work; });
}

// attnbench run-sweep: `command_line` is what the user typed, for the context
// of the result.
void AddRunSweep(CLI::App& app, const std::string& command_line, Command& run);

// attnbench measure-points: the process that measures points for run-sweep
// (harness/campaign/worker.h). Nobody types it, so no help shows it.
void AddMeasurePoints(CLI::App& app, const std::string& command_line,
                      Command& run);

// attnbench list.
void AddList(CLI::App& app, Command& run);

// attnbench decode CASE.json.
void AddDecode(CLI::App& app, Command& run);

// attnbench diagnose: `command_line` as for run-sweep.
void AddDiagnose(CLI::App& app, const std::string& command_line, Command& run);

// attnbench expect CASE.json.
void AddExpect(CLI::App& app, Command& run);

// attnbench show RESULT...
void AddShow(CLI::App& app, Command& run);

// attnbench check, merge: `command_line` as for run-sweep.
void AddCheck(CLI::App& app, Command& run);
void AddMerge(CLI::App& app, const std::string& command_line, Command& run);

// attnbench advise, claims, compare, report, draw and train, which are in
// Python: `command_line` as for run-sweep.
void AddPythonCommands(CLI::App& app, const std::string& command_line,
                       Command& run);

// attnbench computed: what claims has no Python for. Nobody types it, so no
// help shows it.
void AddComputed(CLI::App& app, const std::string& command_line, Command& run);

// attnbench measure-in-turn: what compare --programs has no Python for. Nobody
// types it, so no help shows it.
void AddMeasureInTurn(CLI::App& app, Command& run);

// attnbench gap: `command_line` as for run-sweep.
void AddGap(CLI::App& app, const std::string& command_line, Command& run);

// attnbench roofline: `command_line` as for run-sweep.
void AddRoofline(CLI::App& app, const std::string& command_line, Command& run);

// attnbench stability: `command_line` as for run-sweep.
void AddStability(CLI::App& app, const std::string& command_line, Command& run);

// attnbench verify: `command_line` as for run-sweep.
void AddVerify(CLI::App& app, const std::string& command_line, Command& run);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_COMMANDS_COMMANDS_H_
