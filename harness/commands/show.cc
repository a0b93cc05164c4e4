// attnbench show RESULT...: prints the cells of results of `run-sweep` as a
// table, for people, a page or another program, or one of them in Google
// Benchmark's form; and what `advise` and `diagnose` have written as they
// printed it.
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/answers/advice.h"
#include "harness/answers/gbench.h"
#include "harness/answers/table.h"
#include "harness/base/error.h"
#include "harness/base/exit_code.h"
#include "harness/base/json_file.h"
#include "harness/base/printable.h"
#include "harness/commands/commands.h"
#include "harness/commands/options.h"
#include "harness/commands/sweep_output.h"
#include "harness/stability/diagnosis.h"

namespace attnbench {
namespace {

struct ShowArguments {
  std::vector<std::string> results;
  Format format;
};

std::string GoogleBenchmarkText(const std::vector<std::string>& results) {
  if (results.size() > 1) {
    throw UserError("--format", "gbench is the form of one result");
  }
  return JsonText(ToGoogleBenchmark(ReadResult(results[0]).result), 1);
}

// What `advise` or `diagnose` printed of what it has written; nothing of
// another kind.
std::optional<std::string> AnswerText(const Json& document,
                                      const std::string& path) {
  const Json kind =
      document.is_object() ? document.value("kind", Json()) : Json();
  if (kind == "advice") {
    CheckKind(document, "advice", path);
    return AdviceText(FromJson<Advice>(document, path));
  }
  if (kind == "diagnosis") {
    CheckKind(document, "diagnosis", path);
    return DiagnosisText(FromJson<Diagnosis>(document, path));
  }
  return {};
}

// The rows of all, or of each as text.
std::string ShownText(const std::vector<std::string>& results,
                      const std::string& format) {
  CellTable all;
  std::string text;
  for (const std::string& path : results) {
    const Json document = ReadJsonFile(path);
    if (format == "text") {
      if (const auto answer = AnswerText(document, path)) {
        text += *answer;
        continue;
      }
    }
    const ReadSweep read = ReadResult(document, path);
    if (format == "text") {
      CellTable table;
      AddRows(read.result, path, table);
      text += TableText(table) + ResultText(read.result, path);
    } else {
      AddRows(read.result, path, all);
    }
  }
  if (format == "markdown") return TableMarkdown(all);
  if (format == "csv") return TableCsv(all);
  if (format == "json") return JsonText(ToJson(all));
  return text;
}

int RunShow(const ShowArguments& arguments) {
  const std::string format =
      arguments.format.Of({"text", "markdown", "csv", "json", "gbench"});
  std::cout << PrintableLines(format == "gbench"
                                  ? GoogleBenchmarkText(arguments.results)
                                  : ShownText(arguments.results, format));
  return kGood;
}

}  // namespace

void AddShow(CLI::App& app, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "show", "what a run has written as a table, as it was printed");
  const auto arguments = std::make_shared<ShowArguments>();
  command
      ->add_option("RESULTS", arguments->results,
                   "results of run-sweep, or, as text, of advise and "
                   "diagnose, e.g. show mine.json")
      ->type_name("FILE")
      ->required();
  AddFormat(*command,
            "text, markdown, csv (a line for each cell), json, or gbench "
            "(Google Benchmark's JSON of one result), e.g. --format csv",
            arguments->format);
  OnAsked(*command, run, [arguments] { return RunShow(*arguments); });
}

}  // namespace attnbench
