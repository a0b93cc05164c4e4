// attnbench verify: what trains against what decodes, for every mechanism, as a
// table for people and a JSON document for programs.
#include "harness/verify.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>

#include "harness/commands/commands.h"
#include "harness/commands/output_options.h"
#include "harness/commands/verify_output.h"
#include "harness/environment.h"
#include "harness/error.h"
#include "harness/exit_code.h"
#include "harness/progress.h"
#include "harness/result_file.h"
#include "harness/sweep.h"
#include "harness/verify_shard.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

constexpr std::int64_t kQuickTrials = 30'000;
constexpr std::int64_t kFullTrials = 300'000;
constexpr std::int64_t kLeastTrials = 100;
constexpr std::int64_t kMostThreads = 1024;

// As typed; empty where an option was not given.
struct Arguments {
  std::string mechanisms;
  std::string trials;
  std::string seed;
  std::string level;
  std::string threads;
  std::string shard;
  std::string output;
  bool quick = false;
  bool json = false;
  bool force = false;
};

void AddOptions(CLI::App& command, Arguments& arguments) {
  command.add_flag("--quick", arguments.quick,
                   "the smaller grid, well under a minute, e.g. verify "
                   "--quick");
  const auto add = [&](const char* names, std::string& value, const char* type,
                       const std::string& help) {
    command.add_option(names, value, help)
        ->type_name(type)
        ->check([](const std::string& text) {
          return text.empty() ? "an empty value; leave the option out for the "
                                "default"
                              : "";
        });
  };
  add("--mechanism", arguments.mechanisms, "LIST",
      "mechanisms to verify, e.g. --mechanism mocha,matcha (default: all)");
  add("--trials", arguments.trials, "N",
      fmt::format("trials of each case that samples, e.g. --trials 1000000 "
                  "(default {}, with --quick {})",
                  kFullTrials, kQuickTrials));
  add("--seed", arguments.seed, "N",
      "of inputs and trials, e.g. --seed 7 (default 1)");
  add("--level", arguments.level, "P",
      "the probability that anything right is called wrong, over all "
      "comparisons together, e.g. --level 1e-9 (default 1e-6)");
  add("-j,--threads", arguments.threads, "N",
      "cases at a time, e.g. -j 2 (default: one a core); results do not "
      "depend on it");
  add("--shard", arguments.shard, kShardType,
      ShardHelp("cases") + " -o v0.json; `merge` judges all of them");
  AddOutput(command, "the JSON document", "verify.json", arguments.output,
            arguments.force);
  command.add_flag("--json", arguments.json,
                   "prints the JSON document in place of the table, e.g. "
                   "verify --quick --json");
}

VerifyOptions ParseOptions(const Arguments& arguments) {
  const auto number = [](const std::string& text, std::int64_t least,
                         std::int64_t greatest, std::int64_t otherwise,
                         const char* where) {
    return text.empty() ? otherwise
                        : ParseInteger(text, least, greatest, where);
  };
  VerifyOptions options;
  options.trials = number(
      arguments.trials, kLeastTrials, std::numeric_limits<std::uint32_t>::max(),
      arguments.quick ? kQuickTrials : kFullTrials, "--trials");
  options.seed = ParseSeed(arguments.seed);
  if (!arguments.level.empty())
    options.level = ParseShare(arguments.level, "--level", "1e-6");
  const std::int64_t cores = std::min<std::int64_t>(kMostThreads, Cores());
  options.threads = static_cast<int>(
      number(arguments.threads, 1, kMostThreads, cores, "--threads"));
  return options;
}

std::vector<std::string> ParseMechanisms(const std::string& list) {
  std::vector<std::string> valid = MechanismNames();
  if (list.empty()) return valid;
  std::vector<std::string> names;
  for (const std::string& name : SplitList(list, "--mechanism")) {
    if (!Contains(valid, name)) {
      throw UserError("--mechanism", UnknownName("mechanism", name, valid));
    }
    if (!Contains(names, name)) names.push_back(name);
  }
  return names;
}

// The cases of all these mechanisms. One that has none is said so: it must not
// look verified.
std::vector<VerifyCase> CasesOf(const std::vector<std::string>& mechanisms,
                                bool quick, Json& not_verified) {
  std::vector<VerifyCase> cases;
  for (const std::string& name : mechanisms) {
    const std::vector<VerifyCase> of_one =
        MakeVerifyCases(FindMechanism<double>(name)->Describe(), quick);
    cases.insert(cases.end(), of_one.begin(), of_one.end());
    if (!of_one.empty()) continue;
    not_verified.push_back(name);
    std::cerr << fmt::format("attnbench: {} has no mode expect: not verified\n",
                             name);
  }
  return cases;
}

int Verify(const Arguments& arguments, const std::string& command_line) {
  const VerifyOptions options = ParseOptions(arguments);
  const std::vector<std::string> mechanisms =
      ParseMechanisms(arguments.mechanisms);
  std::optional<Shard> shard;
  if (!arguments.shard.empty()) {
    shard = ParseShard(arguments.shard);
    if (arguments.output.empty()) {
      throw UserError("--shard",
                      "wants a file for `merge`, such as -o v0.json");
    }
    if (arguments.json) {
      throw UserError("--json",
                      "a shard is not judged: there is nothing to "
                      "print; leave --json or --shard out");
    }
  }
  std::optional<ResultFile> file;
  if (!arguments.output.empty())
    file.emplace(arguments.output, arguments.force);
  VerifyRun run = {.context = nullptr,
                   .false_alarm_rate = options.level,
                   .trials = options.trials,
                   .not_verified = Json::array()};
  const std::vector<VerifyCase> all =
      CasesOf(mechanisms, arguments.quick, run.not_verified);
  const std::vector<VerifyCase> cases = shard.value_or(Shard{}).Of(all);
  if (all.empty()) {
    std::cerr << "attnbench: there is nothing to verify\n";
    return kNothingToCompare;
  }
  CountProgress progress("verify", "cases", /*tells_time=*/true, stderr,
                         isatty(STDERR_FILENO) == 1);
  std::vector<CaseReport> reports = RunVerifyCases(
      cases, options,
      [&](std::size_t finished) { progress.Tell(finished, cases.size()); });
  run.context = MakeContext(command_line, options.seed);
  if (shard) {
    file->Write(VerifyShardDocument(reports, run, *shard, all));
    std::cout << fmt::format(
        "{}: shard {}, {} of {} cases, not judged: attnbench merge does that "
        "with all shards\n",
        arguments.output, shard->Text(), cases.size(), all.size());
    return 0;
  }
  JudgeAll(options.level, reports);
  if (file.has_value() || arguments.json) {
    const Json document = VerifyDocument(reports, run);
    if (file.has_value()) file->Write(document);
    if (arguments.json) std::cout << document.dump() << '\n';
  }
  if (!arguments.json) PrintVerifyTable(reports, run, progress.Seconds());
  return VerifyExitCode(reports);
}

}  // namespace

void AddVerify(CLI::App& app, const std::string& command_line, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "verify",
      "compare training expectations and gradients with the hard process");
  const auto arguments = std::make_shared<Arguments>();
  AddOptions(*command, *arguments);
  command->callback([&run, command_line, arguments] {
    run = [command_line, arguments] {
      return Verify(*arguments, command_line);
    };
  });
}

}  // namespace attnbench
