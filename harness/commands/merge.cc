// attnbench merge A B... -o FILE: makes one result of the shards of a sweep.
#include "harness/results/merge.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/exit_code.h"
#include "harness/commands/commands.h"
#include "harness/commands/options.h"
#include "harness/commands/sweep_output.h"
#include "harness/system/result_file.h"

namespace attnbench {
namespace {

struct MergeArguments {
  std::vector<std::string> parts;
  std::string output;
  bool partial = false;
  bool force = false;
};

int RunMerge(const std::string& command_line, const MergeArguments& arguments) {
  RefuseToReplace(arguments.parts, arguments.output);
  const ResultFile file(arguments.output, arguments.force);
  std::vector<ReadSweep> parts;
  for (const std::string& path : arguments.parts) {
    parts.push_back(ReadResult(path));
  }
  const Merged merged = MergeResults(parts, command_line);
  if (!merged.missing.empty() && !arguments.partial) {
    std::cerr << fmt::format(
        "attnbench: {}; --partial writes what is there, marked as not valid\n",
        merged.missing);
    return kNothingToCompare;
  }
  file.Write(ToJson(merged.result));
  return PrintResult(merged.result, arguments.output);
}

}  // namespace

void AddMerge(CLI::App& app, const std::string& command_line, Command& run) {
  CLI::App* const command =
      app.add_subcommand("merge", "results of the shards of a sweep into one");
  const auto arguments = std::make_shared<MergeArguments>();
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
  OnAsked(*command, run, [command_line, arguments] {
    return RunMerge(command_line, *arguments);
  });
}

}  // namespace attnbench
