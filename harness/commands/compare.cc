// attnbench compare A B: compares two results, with a verdict on every cell.
#include "harness/results/compare.h"

#include <iostream>
#include <memory>
#include <string>

#include "harness/base/printable.h"
#include "harness/commands/commands.h"
#include "harness/commands/options.h"

namespace attnbench {
namespace {

struct CompareArguments {
  std::string a;
  std::string b;
  ChangeOptions change;
  bool json = false;
};

int RunCompare(const CompareArguments& arguments) {
  const CompareOptions options{.level = arguments.change.Level(),
                               .margin = arguments.change.Margin()};
  const ReadSweep a = ReadResult(arguments.a);
  const ReadSweep b = ReadResult(arguments.b);
  const Comparison comparison = CompareResults(a, b, options);
  std::cout << (arguments.json ? ToJson(comparison).dump() + "\n"
                               : PrintableLines(CompareText(comparison)));
  return CompareExitCode(comparison);
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
  arguments->change.AddTo(*command);
  command->add_flag("--json", arguments->json,
                    "print one JSON document instead of the table, e.g. "
                    "compare before.json after.json --json");
  command->callback([&run, arguments] {
    run = [arguments] { return RunCompare(*arguments); };
  });
}

}  // namespace attnbench
