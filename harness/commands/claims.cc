// attnbench claims: what the papers say, each with a verdict from what this
// machine measures.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/claims_ledger.h"
#include "harness/claims_measure.h"
#include "harness/claims_output.h"
#include "harness/commands/commands.h"
#include "harness/environment.h"
#include "harness/error.h"
#include "harness/exit_code.h"
#include "harness/json_file.h"
#include "harness/result_file.h"
#include "harness/source_tree.h"
#include "harness/temporary_folder.h"

namespace attnbench {
namespace {

namespace fs = std::filesystem;

constexpr char kLedger[] = "experiments/claims.json";

struct Arguments {
  std::vector<std::string> ids;
  std::string ledger;
  std::string results;
  std::string output;
  bool quick = false;
  bool json = false;
  bool force = false;
  bool resume = false;
  bool judge = false;
};

void AddOptions(CLI::App& command, Arguments& arguments) {
  command
      .add_option("CLAIM", arguments.ids,
                  "claims by their ids, e.g. claims mad-linear mocha-w1 "
                  "(default: all)")
      ->type_name("ID...");
  command.add_flag("--quick", arguments.quick,
                   "smaller grids and fewer trials, under a minute, e.g. "
                   "claims --quick");
  command.add_flag("--json", arguments.json,
                   "print the result instead of the table, e.g. claims "
                   "--quick --json");
  command
      .add_option("-o,--output", arguments.output,
                  "the result file, e.g. -o claims.json")
      ->type_name("FILE");
  command
      .add_option("--results", arguments.results,
                  "keep what the verdicts were read from in this folder, a "
                  "file for each measurement, e.g. --results build/claims")
      ->type_name("FOLDER");
  command.add_flag("--force", arguments.force,
                   "replace files that are there, e.g. -o claims.json --force");
  command.add_flag("--resume", arguments.resume,
                   "go on with the sweeps that an earlier run has left in the "
                   "folder, e.g. --results build/claims --resume");
  command.add_flag("--judge", arguments.judge,
                   "measure nothing: judge what an earlier run has left in the "
                   "folder, e.g. --results build/claims --judge");
  command
      .add_option("--ledger", arguments.ledger,
                  "another ledger than the project's, e.g. --ledger mine.json")
      ->type_name("FILE");
}

void CheckArguments(const Arguments& arguments) {
  if (arguments.resume && arguments.results.empty()) {
    throw UserError("--resume",
                    "wants the folder of the earlier run, such as --results "
                    "build/claims");
  }
  if (arguments.judge && arguments.results.empty()) {
    throw UserError("--judge",
                    "wants the folder of an earlier run, such as --results "
                    "build/claims");
  }
  for (const auto& [option, is_given] :
       {std::pair("--resume", arguments.resume),
        std::pair("--quick", arguments.quick)}) {
    if (arguments.judge && is_given) {
      throw UserError(
          "--judge",
          fmt::format("measures nothing, so it takes no {}", option));
    }
  }
  if (arguments.resume && arguments.force) {
    throw UserError("--resume",
                    "goes on from what is there, and --force begins anew; give "
                    "one of them");
  }
}

// The tables of results/published, by their ids.
Json PublishedTables(const std::string& root) {
  Json tables = Json::object();
  for (const char* paper : {"mad", "mocha", "britz"}) {
    const fs::path path = fs::path(root) / "results" / "published" /
                          (paper + std::string(".json"));
    const Json document = ReadJsonFile(path.string());
    for (const Json& table : document.at("tables")) {
      tables[table.at("id").get<std::string>()] = table.at("rows");
    }
  }
  return tables;
}

void MakeFolder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw UserError(folder, "cannot be made: " + error.message());
}

int RunClaims(const AxisTable& table, const std::string& command_line,
              const Arguments& arguments) {
  CheckArguments(arguments);
  const std::string own_ledger = FindInSources("claims", kLedger);
  const std::string root =
      fs::path(own_ledger).parent_path().parent_path().string();
  ClaimsLedger ledger = ReadClaimsLedger(
      arguments.ledger.empty() ? own_ledger : arguments.ledger,
      FindInSources("claims", "results/schema/claims_ledger.schema.json"));
  KeepClaims(arguments.ids, ledger);
  const Json published = PublishedTables(root);
  std::optional<ResultFile> file;
  if (!arguments.output.empty()) {
    file.emplace(arguments.output, arguments.force || arguments.resume);
  }
  std::optional<TemporaryFolder> temporary;
  if (arguments.results.empty()) {
    temporary.emplace();
  } else if (!arguments.judge) {
    MakeFolder(arguments.results);
  } else if (!fs::is_directory(arguments.results)) {
    throw UserError(arguments.results, "is no folder of an earlier run");
  }
  const Json context = MakeContext(command_line, /*seed=*/1);
  const auto documents = MeasureClaims(
      table, ledger,
      {.root = root,
       .folder = temporary ? temporary->path() : arguments.results,
       .is_kept = !temporary,
       .quick = arguments.quick,
       .force = arguments.force,
       .resume = arguments.resume,
       .judge = arguments.judge,
       .command_line = command_line});
  if (!documents) {
    std::cerr << "attnbench: claims: interrupted"
              << (temporary ? "" : "; --resume goes on") << "\n";
    return kInterrupted;
  }
  const Json result =
      ClaimsResult(ledger, *documents, published, context,
                   arguments.quick ? "run without --quick" : "");
  if (file) file->Write(result);
  std::cout << (arguments.json ? result.dump() + "\n" : ClaimsText(result));
  // A claim that fails is a finding: measuring it has gone well.
  return kGood;
}

}  // namespace

void AddClaims(CLI::App& app, const AxisTable& table,
               const std::string& command_line, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "claims",
      "measure what the papers claim, and say of each whether it "
      "holds here");
  const auto arguments = std::make_shared<Arguments>();
  AddOptions(*command, *arguments);
  command->callback([&table, &run, command_line, arguments] {
    run = [&table, command_line, arguments] {
      return RunClaims(table, command_line, *arguments);
    };
  });
}

}  // namespace attnbench
