// attnbench verify: compares training with decoding for every mechanism, and
// tells it as a table for people and a JSON document for programs.
#include "harness/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/exit_code.h"
#include "harness/base/parse_text.h"
#include "harness/base/printable.h"
#include "harness/campaign/progress.h"
#include "harness/commands/case_request.h"
#include "harness/commands/commands.h"
#include "harness/commands/options.h"
#include "harness/commands/sweep_options.h"
#include "harness/machine/environment.h"
#include "harness/sweep/cell.h"
#include "harness/system/result_file.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

constexpr std::int64_t kQuickTrials = 30'000;
constexpr std::int64_t kFullTrials = 300'000;
constexpr std::int64_t kLeastTrials = 100;
constexpr int kMostThreads = 1024;
constexpr std::size_t kMostFailuresShown = 10;

struct VerifyArguments {
  std::string mechanisms;
  std::vector<std::string> options;  // key=v1,v2
  std::optional<std::int64_t> trials;
  std::uint64_t seed = 1;
  double level = VerifyOptions().level;
  std::optional<int> threads;
  std::string output;
  bool quick = false;
  bool json = false;
  bool force = false;
};

void AddOptions(CLI::App& command, VerifyArguments& arguments) {
  command.add_flag("--quick", arguments.quick,
                   "fewer and smaller cases; well under a minute, e.g. verify "
                   "--quick");
  command
      .add_option("--mechanism", arguments.mechanisms,
                  "mechanisms to verify, e.g. --mechanism mocha,matcha "
                  "(default: all)")
      ->type_name("LIST");
  AddMechanismOptions(command,
                      "values of an option of a mechanism (see list), each in "
                      "every case, e.g. --option keys=precomputed,on_demand; "
                      "can be repeated",
                      "KEY=LIST", arguments.options);
  AddNumber(command, "--trials", arguments.trials, kLeastTrials,
            std::numeric_limits<std::uint32_t>::max(),
            fmt::format("trials of each case that samples, e.g. --trials "
                        "1000000 (default {}, with --quick {})",
                        kFullTrials, kQuickTrials));
  AddSeed(command, "of inputs and trials, e.g. --seed 7", arguments.seed);
  AddShare(command, "--level", arguments.level, "P", "1e-6",
           "the probability that anything right is called wrong, over all "
           "comparisons together, e.g. --level 1e-9 (default 1e-6)");
  AddNumber(command, "-j,--threads", arguments.threads, 1, kMostThreads,
            "cases at a time, e.g. -j 2 (default: one a core); results do not "
            "depend on it");
  AddOutput(command, "the JSON document", "verify.json", arguments.output,
            arguments.force);
  command.add_flag("--json", arguments.json,
                   "prints the JSON document in place of the table, e.g. "
                   "verify --quick --json");
}

VerifyOptions OptionsOf(const VerifyArguments& arguments) {
  return {
      .trials = arguments.trials.value_or(arguments.quick ? kQuickTrials
                                                          : kFullTrials),
      .seed = arguments.seed,
      .level = arguments.level,
      .threads = arguments.threads.value_or(std::min(kMostThreads, Cores()))};
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

// The cases of all these mechanisms, with every setting of the options that
// were asked for. A mechanism without cases is named: it must not look
// verified.
std::vector<VerifyCase> CasesOf(const std::vector<std::string>& mechanisms,
                                const VerifyArguments& arguments,
                                std::vector<std::string>& not_verified) {
  const auto given = ParseMechanismOptions(arguments.options);
  SweepRequest request;
  request.options = given;
  for (const std::string& name : mechanisms) {
    request.alternatives.push_back({name, {}, {}});
  }
  const std::vector<Point> points = ExpandSweep(request).points;
  std::vector<VerifyCase> cases;
  const auto add = [&](const Cell& cell) {
    const Description& about =
        FindMechanism<double>(cell.mechanism)->Describe();
    std::map<std::string, OptionValue> options = cell.options;
    std::erase_if(options,
                  [&](const auto& one) { return !given.contains(one.first); });
    CheckOptionsOfVariant(options, cell.Text("variant"), about, "--option ");
    const std::vector<VerifyCase> of_cell =
        MakeVerifyCases(about, arguments.quick, options);
    cases.insert(cases.end(), of_cell.begin(), of_cell.end());
    if (!of_cell.empty() || Contains(not_verified, about.name)) return;
    not_verified.push_back(about.name);
    std::cerr << fmt::format("attnbench: {} has no Expect: not verified\n",
                             about.name);
  };
  for (const std::string& name : mechanisms) {
    for (const Point& point : points) {
      for (const Cell& cell : point.cells) {
        if (cell.mechanism == name) add(cell);
      }
    }
  }
  return cases;
}

// One line of the table: a quantity of a mechanism over all cases of a method.
struct Row {
  std::size_t cases = 0;
  std::int64_t comparisons = 0;
  double worst = 0;  // p-value, or the largest error
  double detectable = 0;
  bool passed = true;
  ChiSquare chi_square;
};

// The key is mechanism, method, what was compared, and whether exactly.
using RowKey = std::tuple<std::string, std::string, std::string, bool>;

std::vector<std::pair<RowKey, Row>> RowsOf(
    const std::vector<CaseReport>& reports) {
  std::vector<std::pair<RowKey, Row>> rows;
  for (const CaseReport& report : reports) {
    for (const Quantity& quantity : report.quantities) {
      const RowKey key(report.verify_case.mechanism,
                       MethodName(report.verify_case.method), quantity.what(),
                       quantity.exact());
      auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) {
        return row.first == key;
      });
      if (found == rows.end()) {
        found = rows.insert(found, {key, Row{}});
        found->second.worst = quantity.exact() ? 0 : 1;
      }
      Row& row = found->second;
      ++row.cases;
      row.comparisons += quantity.comparisons();
      row.worst = quantity.exact()
                      ? std::max(row.worst, quantity.largest_error())
                      : std::min(row.worst, quantity.worst().p_value);
      row.detectable = std::max(row.detectable, quantity.detectable());
      row.passed = row.passed && quantity.passed();
      if (quantity.what() == "selection" && report.chi_square.has_value()) {
        row.chi_square.statistic += report.chi_square->statistic;
        row.chi_square.terms += report.chi_square->terms;
      }
    }
  }
  return rows;
}

// Prints a line for each mechanism, method and array, and one about the whole.
void PrintVerifyTable(const std::vector<CaseReport>& reports,
                      const VerifyRun& run, double seconds) {
  constexpr std::size_t kMechanism = 0, kWhat = 2;
  std::size_t widest_name = 11, widest_what = 34;
  const auto rows = RowsOf(reports);
  for (const auto& [key, row] : rows) {
    widest_name = std::max(widest_name, std::get<kMechanism>(key).size());
    widest_what = std::max(widest_what, std::get<kWhat>(key).size());
  }
  std::cout << fmt::format(
      "{:<{}} {:<12} {:<{}} {:>6} {:>12} {:>14} {:>11}  {}\n", "mechanism",
      widest_name, "method", "compared", widest_what, "cases", "comparisons",
      "worst", "detectable", "verdict");
  for (const auto& [key, row] : rows) {
    const auto& [mechanism, method, what, exact] = key;
    std::cout << fmt::format(
        "{:<{}} {:<12} {:<{}} {:>6} {:>12} {:>14} {:>11.2g}  {}", mechanism,
        widest_name, method, what, widest_what, row.cases, row.comparisons,
        fmt::format("{} {:.2g}", exact ? "error" : "p", row.worst),
        row.detectable, row.passed ? "passed" : "FAILED");
    if (row.chi_square.terms > 0) {
      std::cout << fmt::format(
          "  (chi-square {:.0f} over {} terms, no part of the verdict)",
          row.chi_square.statistic, row.chi_square.terms);
    }
    std::cout << '\n';
  }
  const VerifyTotals totals = TotalsOf(reports);
  std::cout << fmt::format(
      "{}, {} comparisons, {} of them by up to {} trials: {}; "
      "false-alarm rate {:.2g}, {:.0f} s\n",
      Counted(reports.size(), "case"), totals.comparisons, totals.sampled,
      run.trials,
      totals.failed_cases == 0
          ? "all passed"
          : Counted(totals.failed_cases, "case") + " FAILED",
      run.false_alarm_rate, seconds);
}

// Gives 1 if a case failed, and names it on standard error.
int VerifyExitCode(const std::vector<CaseReport>& reports) {
  const VerifyTotals totals = TotalsOf(reports);
  if (totals.failed_cases == 0) return 0;
  std::size_t shown = 0;
  for (const CaseReport& report : reports) {
    if (report.passed() || ++shown > kMostFailuresShown) continue;
    std::cerr << fmt::format("failed: {}\n", report.Text());
  }
  std::cerr << fmt::format("attnbench: {} of {} cases failed; the worst: {}\n",
                           totals.failed_cases, reports.size(),
                           reports[totals.worst_case].Text());
  return kFailed;
}

int Verify(const VerifyArguments& arguments, const std::string& command_line) {
  const VerifyOptions options = OptionsOf(arguments);
  const std::vector<std::string> mechanisms =
      ParseMechanisms(arguments.mechanisms);
  const std::optional<ResultFile> file =
      FileIfNamed(arguments.output, arguments.force);
  VerifyRun run = {.context = MakeContext(command_line, options.seed),
                   .false_alarm_rate = options.level,
                   .trials = options.trials,
                   .not_verified = {}};
  const std::vector<VerifyCase> cases =
      CasesOf(mechanisms, arguments, run.not_verified);
  if (cases.empty()) {
    std::cerr << "attnbench: there is nothing to verify\n";
    return kNothingToCompare;
  }
  CountProgress progress("verify", "cases", /*tells_time=*/true);
  std::vector<CaseReport> reports =
      RunVerifyCases(cases, options, [&](std::size_t finished) {
        progress.ShowCount(finished, cases.size());
      });
  JudgeAll(options.level, reports);
  if (file.has_value() || arguments.json) {
    const Json document = ToJson(MakeVerifyResult(reports, run));
    if (file.has_value()) file->Write(document);
    if (arguments.json) std::cout << JsonText(document);
  }
  if (!arguments.json) PrintVerifyTable(reports, run, progress.Seconds());
  return VerifyExitCode(reports);
}

}  // namespace

void AddVerify(CLI::App& app, const std::string& command_line, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "verify",
      "compare training expectations and gradients with the sampled process");
  const auto arguments = std::make_shared<VerifyArguments>();
  AddOptions(*command, *arguments);
  OnAsked(*command, run, [command_line, arguments] {
    return Verify(*arguments, command_line);
  });
}

}  // namespace attnbench
