// attnbench claims: the papers' claims, each with a verdict from this machine's
// measurements.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/exit_code.h"
#include "harness/base/parse_text.h"
#include "harness/base/printable.h"
#include "harness/claims/judge_request.h"
#include "harness/claims/ledger.h"
#include "harness/claims/measure.h"
#include "harness/commands/commands.h"
#include "harness/commands/options.h"
#include "harness/commands/sweep_options.h"
#include "harness/machine/environment.h"
#include "harness/system/python.h"
#include "harness/system/relinks.h"
#include "harness/system/result_file.h"
#include "harness/system/source_tree.h"
#include "harness/system/temporary_folder.h"

namespace attnbench {
namespace {

namespace fs = std::filesystem;

constexpr char kLedger[] = "experiments/claims.json";
constexpr char kJudge[] = "plots/judge.py";

struct ClaimsArguments {
  std::vector<std::string> ids;
  std::string ledger;
  std::string results;
  std::string output;
  std::string builds;
  std::vector<std::string> eigens;
  bool quick = false;
  bool json = false;
  bool force = false;
  bool resume = false;
  bool judge = false;
  bool list = false;
};

void AddOptions(CLI::App& command, ClaimsArguments& arguments) {
  CLI::Option* const list = command.add_flag(
      "--list", arguments.list,
      "measure nothing: print the claims and where they stand, e.g. claims "
      "--list");
  command
      .add_option("CLAIM", arguments.ids,
                  "claims by their ids, e.g. claims mad-linear mocha-w1 "
                  "(default: all)")
      ->type_name("ID...");
  CLI::Option* const quick =
      command.add_flag("--quick", arguments.quick,
                       "smaller grids and fewer trials, under a minute, e.g. "
                       "claims --quick");
  command
      .add_flag("--json", arguments.json,
                "print the result instead of the table, e.g. claims "
                "--quick --json")
      ->excludes(list);
  command
      .add_option("-o,--output", arguments.output,
                  "the result (a file, never '-' or a pipe), e.g. -o "
                  "claims.json")
      ->type_name("FILE")
      ->excludes(list);
  CLI::Option* const results =
      command
          .add_option("--results", arguments.results,
                      "keep what the verdicts were read from in this folder, a "
                      "file for each measurement, e.g. --results build/claims")
          ->type_name("FOLDER");
  CLI::Option* const force = command.add_flag(
      "--force", arguments.force,
      "replace files that are there, e.g. -o claims.json --force");
  CLI::Option* const resume =
      command
          .add_flag("--resume", arguments.resume,
                    "go on with the sweeps that an earlier run has left in the "
                    "folder, e.g. --results build/claims --resume")
          ->needs(results)
          ->excludes(force);
  CLI::Option* const builds =
      command
          .add_option("--builds", arguments.builds,
                      "relinks of this program that measure the sweeps in "
                      "turn, a process each, e.g. --builds 20 (see run-sweep)")
          ->type_name("N");
  CLI::Option* const eigen =
      command
          .add_option("--eigen", arguments.eigens,
                      "folder with Eigen/Dense, which the program of MAD's "
                      "authors is built with; may be repeated, e.g. --eigen "
                      "eigen-3.2.10 --eigen /usr/include/eigen3 (default: the "
                      "latter)")
          ->type_name("DIR")
          ->allow_extra_args(false);
  command
      .add_flag("--judge", arguments.judge,
                "measure nothing: judge what an earlier run has left in the "
                "folder, e.g. --results build/claims --judge")
      ->needs(results)
      ->excludes(resume)
      ->excludes(builds)
      ->excludes(eigen)
      ->excludes(quick);
  command
      .add_option("--ledger", arguments.ledger,
                  "another ledger than the project's, e.g. --ledger mine.json")
      ->type_name("FILE");
}

void MakeFolder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw UserError(folder, "cannot be made: " + error.message());
}

// The folder of the measurements: the user's, or one that is removed at the
// end.
std::string FolderFor(const ClaimsArguments& arguments,
                      const TemporaryFolder& temporary) {
  if (arguments.results.empty()) return temporary.path();
  std::error_code error;
  if (!arguments.judge) {
    MakeFolder(arguments.results);
  } else if (!fs::is_directory(arguments.results, error)) {
    throw UserError(arguments.results, "is no folder of an earlier run");
  }
  return arguments.results;
}

bool MayReplace(const ClaimsArguments& arguments) {
  return arguments.force || arguments.resume;
}

// Reads the measurements, writes and prints the verdicts (plots/judge.py). A
// claim that fails is a finding, not an error of the command.
int Judge(const JudgeRequest& request, const ClaimsArguments& arguments,
          const std::string& folder) {
  const std::string path = (fs::path(folder) / "judge_request.json").string();
  ResultFile(path, /*may_replace=*/true).Write(ToJson(request));
  std::vector<std::string> options = {path};
  if (!arguments.output.empty()) {
    options.push_back("--output=" + arguments.output);
    if (MayReplace(arguments)) options.emplace_back("--force");
  }
  if (arguments.json) options.emplace_back("--json");
  return RunPython("claims", kJudge, options);
}

int RunClaims(const std::string& command_line,
              const ClaimsArguments& arguments) {
  const std::string own_ledger = FindInSources("claims", kLedger);
  CheckUtf8(own_ledger, "the path of the sources");  // the judge is told it
  const std::string& path =
      arguments.ledger.empty() ? own_ledger : arguments.ledger;
  ClaimsLedger ledger = ReadClaimsLedger(
      path,
      FindInSources("claims", "results/schema/claims_ledger.schema.json"));
  KeepClaims(arguments.ids, ledger);
  if (arguments.list) {
    for (const LedgerClaim& claim : ledger.claims) {
      std::cout << PrintableLines(
          fmt::format("{} ({})\n  {}\n", claim.id, claim.source, claim.claim));
    }
    return kGood;
  }
  if (!arguments.output.empty()) {
    // A place that cannot be written must show before the measurements.
    std::vector<std::string> inputs = {path};
    for (const auto& [name, measurement] : ledger.measurements) {
      if (arguments.results.empty()) break;  // they go to a temporary folder
      inputs.push_back(
          (fs::path(arguments.results) / (name + ".json")).string());
    }
    RefuseToReplace(inputs, arguments.output);
    ResultFile(arguments.output, MayReplace(arguments));
  }
  std::vector<std::string> builds;
  if (const auto count = NumBuilds(arguments.builds)) {
    builds = Relinks(*count, "--builds");
  }
  // A judge that cannot run, or a rule that it cannot judge by, must show
  // before hours of measuring.
  const int ready = RunPython("claims", kJudge, {"--ready", path});
  if (ready != kGood) return ready;
  // So must a folder that the authors' program cannot be built with.
  if (!arguments.judge && MeasuresAuthors(ledger)) {
    const int can_build = RunAuthors(arguments.eigens, {"--ready"});
    if (can_build != kGood) return can_build;
  }
  const TemporaryFolder temporary;
  const Context context = MakeContext(command_line, /*seed=*/1);
  const auto documents = MeasureClaims(
      ledger,
      {.root = fs::path(own_ledger).parent_path().parent_path().string(),
       .folder = FolderFor(arguments, temporary),
       .is_kept = !arguments.results.empty(),
       .quick = arguments.quick,
       .force = arguments.force,
       .resume = arguments.resume,
       .judge = arguments.judge,
       .builds = std::move(builds),
       .eigens = arguments.eigens,
       .command_line = command_line});
  if (!documents) {
    std::cerr << "attnbench: claims: interrupted"
              << (arguments.results.empty() ? "" : "; --resume goes on")
              << "\n";
    return kInterrupted;
  }
  return Judge({.ledger = path,
                .claims = ledger.Ids(),
                .context = context,
                .quick = arguments.quick,
                .measurements = *documents},
               arguments, temporary.path());
}

}  // namespace

void AddClaims(CLI::App& app, const std::string& command_line, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "claims",
      "measure what the papers claim, and say of each whether it "
      "holds here");
  const auto arguments = std::make_shared<ClaimsArguments>();
  AddOptions(*command, *arguments);
  AddPythonNote(*command);
  command->callback([&run, command_line, arguments] {
    run = [command_line, arguments] {
      return RunClaims(command_line, *arguments);
    };
  });
}

}  // namespace attnbench
