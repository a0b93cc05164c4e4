// attnbench check RESULT --baseline BASE: says whether the numbers are still
// those of the baseline, or on demand makes them the baseline.
#include "harness/answers/check.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "harness/base/error.h"
#include "harness/base/exit_code.h"
#include "harness/base/printable.h"
#include "harness/commands/commands.h"
#include "harness/commands/options.h"
#include "harness/system/result_file.h"

namespace attnbench {
namespace {

struct CheckArguments {
  std::string result;
  std::string baseline;
  ChangeOptions change;
  double slack = kDefaultSlack;
  bool update = false;
  bool time = false;
  Format format;
};

// Gives none if there is no such file, or nothing in it.
std::optional<ReadSweep> ReadBaseline(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return std::nullopt;
  if (fs::is_regular_file(status) && fs::file_size(path, error) == 0) {
    return std::nullopt;
  }
  return ReadResult(path);
}

std::string Formatted(const CheckReport& check, const std::string& format) {
  if (format == "json") return JsonText(ToJson(check));
  if (format == "junit") return CheckJUnit(check);
  return PrintableLines(format == "markdown" ? CheckMarkdown(check)
                                             : CheckText(check));
}

void Update(const ReadSweep& result, const std::string& path) {
  const std::string why = WhyNoBaseline(result.result);
  if (!why.empty()) {
    throw UserError(result.path, "cannot become a baseline: " + why);
  }
  ResultFile(path, /*may_replace=*/true).Write(ToJson(result.result));
}

int RunCheck(const CheckArguments& arguments) {
  const CheckOptions options{.time = arguments.time,
                             .slack = arguments.slack,
                             .level = arguments.change.level,
                             .margin = arguments.change.margin};
  const std::string format = arguments.format.Of(kReportFormats);
  const ReadSweep result = ReadResult(arguments.result);
  const CheckReport check = CheckAgainst(ReadBaseline(arguments.baseline),
                                         arguments.baseline, result, options);
  if (arguments.update) Update(result, arguments.baseline);
  std::cout << Formatted(check, format);
  if (!arguments.update) return CheckExitCode(check);
  std::cerr << "attnbench: " << Printable(arguments.baseline)
            << " is now this result; say in CHANGELOG.md what changed and "
               "why\n";
  return kGood;
}

}  // namespace

void AddCheck(CLI::App& app, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "check", "whether a result has the numbers of a baseline");
  const auto arguments = std::make_shared<CheckArguments>();
  command->add_option("RESULT", arguments->result, "a result, e.g. mine.json")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--baseline", arguments->baseline,
                   "the result to compare with, e.g. --baseline "
                   "results/baseline/ci.json")
      ->type_name("FILE")
      ->required();
  command->add_flag("--update", arguments->update,
                    "then make RESULT the baseline, e.g. check mine.json "
                    "--baseline base.json --update");
  command->add_flag("--time", arguments->time,
                    "compare times too, as ratios between the cells of a "
                    "point, e.g. check mine.json --baseline base.json --time");
  AddShare(*command, "--slack", arguments->slack, "X", "0.005",
           "share by which a count of instructions may grow, e.g. --slack 0.02 "
           "for 2 % (default 0.005)");
  AddChange(*command, arguments->change);
  AddFormat(*command, kReportFormatHelp, arguments->format);
  OnAsked(*command, run, [arguments] { return RunCheck(*arguments); });
}

}  // namespace attnbench
