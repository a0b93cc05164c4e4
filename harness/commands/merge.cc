// attnbench merge A B... -o FILE: parts of one run into one result.
#include "harness/merge.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "harness/commands/commands.h"
#include "harness/error.h"
#include "harness/exit_code.h"
#include "harness/result_file.h"

namespace attnbench {
namespace {

struct Arguments {
  std::vector<std::string> parts;
  std::string output;
  bool partial = false;
  bool force = false;
};

int RunMerge(const AxisTable& table, const std::string& command_line,
             const Arguments& arguments) {
  const ResultFile file(arguments.output, arguments.force);
  std::vector<ResultDocument> parts;
  for (const std::string& path : arguments.parts) {
    parts.push_back(ReadResult(table, path));
  }
  const Merged merged = MergeResults(parts, command_line);
  if (!merged.missing.empty() && !arguments.partial) {
    std::cerr << fmt::format(
        "attnbench: {}; --partial writes what is there, marked as not valid\n",
        merged.missing);
    return kNothingToCompare;
  }
  file.Write(merged.document);
  const Json& context = merged.document.at("context");
  for (const char* list : {"invalid_reasons", "warnings"}) {
    const bool is_invalid = list[0] == 'i';
    for (const Json& text : context.at(list)) {
      std::cerr << fmt::format("{}: {}\n", is_invalid ? "INVALID" : "warning",
                               text.get<std::string>());
    }
  }
  std::cout << fmt::format("{}: {} cells of {} files\n", arguments.output,
                           merged.document.at("cells").size(), parts.size());
  return kGood;
}

}  // namespace

void AddMerge(CLI::App& app, const AxisTable& table,
              const std::string& command_line, Command& run) {
  CLI::App* const command =
      app.add_subcommand("merge", "results of the parts of one sweep into one");
  const auto arguments = std::make_shared<Arguments>();
  command
      ->add_option("PARTS", arguments->parts,
                   "results of shards, e.g. shard0.json shard1.json")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("-o,--output", arguments->output,
                   "the merged result, e.g. -o all.json")
      ->type_name("FILE")
      ->required();
  command->add_flag("--partial", arguments->partial,
                    "write a result that is not valid where points are "
                    "missing, e.g. merge a.json -o b.json --partial");
  command->add_flag("--force", arguments->force,
                    "replace the output file, e.g. -o all.json --force");
  command->callback([&table, &run, command_line, arguments] {
    run = [&table, command_line, arguments] {
      return RunMerge(table, command_line, *arguments);
    };
  });
}

}  // namespace attnbench
