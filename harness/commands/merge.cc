// attnbench merge A B... -o FILE: parts of one run, of a sweep or of a
// verification, into one result.
#include "harness/merge.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/commands/commands.h"
#include "harness/commands/output_options.h"
#include "harness/commands/sweep_output.h"
#include "harness/commands/verify_output.h"
#include "harness/error.h"
#include "harness/exit_code.h"
#include "harness/json_file.h"
#include "harness/result_file.h"
#include "harness/verify_shard.h"

namespace attnbench {
namespace {

struct Arguments {
  std::vector<std::string> parts;
  std::string output;
  bool partial = false;
  bool force = false;
};

// What is missing, and what to do about it.
int ComplainOfMissing(const std::string& missing, const char* remedy) {
  std::cerr << fmt::format("attnbench: {}{}\n", missing, remedy);
  return kNothingToCompare;
}

int MergeSweeps(const AxisTable& table, const std::string& command_line,
                const Arguments& arguments,
                const std::vector<ResultDocument>& parts,
                const ResultFile& file) {
  for (const ResultDocument& part : parts) CheckResult(table, part);
  const Merged merged = MergeResults(parts, command_line);
  if (!merged.missing.empty() && !arguments.partial) {
    return ComplainOfMissing(
        merged.missing,
        "; --partial writes what is there, marked as not valid");
  }
  file.Write(merged.document);
  return Summarize(merged.document, arguments.output);
}

// A part of a verdict is none, so there is no --partial of these.
int MergeVerifications(const Arguments& arguments,
                       const std::vector<ResultDocument>& parts,
                       const ResultFile& file) {
  if (arguments.partial) {
    throw UserError("--partial",
                    "is for sweeps; a verification is judged as a "
                    "whole");
  }
  const MergedVerify merged = MergeVerifyShards(parts);
  if (!merged.missing.empty()) return ComplainOfMissing(merged.missing, "");
  file.Write(VerifyDocument(merged.reports, merged.run));
  PrintVerifyTable(merged.reports, merged.run, std::nullopt);
  for (const Json& warning : merged.run.context.at("warnings")) {
    std::cout << "  warning: " << AxisValueText(warning) << "\n";
  }
  return VerifyExitCode(merged.reports);
}

int RunMerge(const AxisTable& table, const std::string& command_line,
             const Arguments& arguments) {
  const ResultFile file(arguments.output, arguments.force);
  std::vector<ResultDocument> parts;
  for (const std::string& path : arguments.parts) {
    parts.push_back({path, ReadJsonFile(path)});
  }
  const Json& first = parts[0].json;
  return first.is_object() && first.value("kind", Json()) == kVerifyShardKind
             ? MergeVerifications(arguments, parts, file)
             : MergeSweeps(table, command_line, arguments, parts, file);
}

}  // namespace

void AddMerge(CLI::App& app, const AxisTable& table,
              const std::string& command_line, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "merge", "results of the shards of a sweep, or of verify, into one");
  const auto arguments = std::make_shared<Arguments>();
  command
      ->add_option("PARTS", arguments->parts,
                   "results of shards, e.g. shard0.json shard1.json")
      ->type_name("FILE")
      ->required();
  AddOutput(*command, "the merged result", "all.json", arguments->output,
            arguments->force)
      ->required();
  command->add_flag("--partial", arguments->partial,
                    "write a result that is not valid where points are "
                    "missing, e.g. merge a.json -o b.json --partial");
  command->callback([&table, &run, command_line, arguments] {
    run = [&table, command_line, arguments] {
      return RunMerge(table, command_line, *arguments);
    };
  });
}

}  // namespace attnbench
