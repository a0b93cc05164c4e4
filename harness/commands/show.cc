// attnbench show RESULT...: prints the cells of results of `run-sweep` as a
// table, for people, a page or another program, or one of them in Google
// Benchmark's form; and what `advise`, `diagnose` and `gap` have written as
// they printed it.
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/answers/gbench.h"
#include "harness/answers/table.h"
#include "harness/base/error.h"
#include "harness/base/exit_code.h"
#include "harness/base/json_file.h"
#include "harness/base/printable.h"
#include "harness/commands/commands.h"
#include "harness/commands/gap_text.h"
#include "harness/commands/options.h"
#include "harness/commands/sweep_output.h"
#include "harness/stability/diagnosis.h"
#include "harness/system/python.h"

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

Json KindOf(const Json& document) {
  return document.is_object() ? document.value("kind", Json()) : Json();
}

// What a command printed of what it has written.
std::string AnswerText(const Json& document, const std::string& path) {
  if (KindOf(document) == "diagnosis") {
    CheckKind(document, "diagnosis", path);
    return DiagnosisText(FromJson<Diagnosis>(document, path));
  }
  if (KindOf(document) == "gap") {
    CheckKind(document, "gap", path);
    return GapText(FromJson<GapResult>(document, path));
  }
  if (KindOf(document) == "model_gap") {
    CheckKind(document, "model_gap", path);
    return GapText(FromJson<ModelGap>(document, path));
  }
  const ReadSweep read = ReadResult(document, path);
  CellTable table;
  AddRows(read.result, path, table);
  return TableText(table) + ResultText(read.result, path);
}

// Prints nothing before all can be read. Python has the text of advice: it gets
// the documents, as a pipe can be read only once, and prints the others' texts
// between them.
int ShowAnswers(const std::vector<std::string>& results) {
  bool needs_python = false;
  Json answers = Json::array();
  for (const std::string& path : results) {
    Json document = ReadJsonFile(path);
    if (KindOf(document) == "advice") {
      needs_python = true;
      answers.push_back({{"path", path}, {"advice", std::move(document)}});
    } else {
      answers.push_back({{"text", AnswerText(document, path)}});
    }
  }
  if (needs_python) {
    return RunPython("show", kPythonCommands, {"show"}, answers.dump());
  }
  for (const Json& one : answers) {
    std::cout << PrintableLines(one["text"].get<std::string>());
  }
  return kGood;
}

// The rows of all.
std::string TableOf(const std::vector<std::string>& results,
                    const std::string& format) {
  CellTable all;
  for (const std::string& path : results) {
    AddRows(ReadResult(path).result, path, all);
  }
  if (format == "markdown") return TableMarkdown(all);
  if (format == "csv") return TableCsv(all);
  return JsonText(ToJson(all));
}

int RunShow(const ShowArguments& arguments) {
  const std::string format =
      arguments.format.Of({"text", "markdown", "csv", "json", "gbench"});
  if (format == "text") return ShowAnswers(arguments.results);
  std::cout << PrintableLines(format == "gbench"
                                  ? GoogleBenchmarkText(arguments.results)
                                  : TableOf(arguments.results, format));
  return kGood;
}

}  // namespace

void AddShow(CLI::App& app, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "show", "what a run has written as a table, as it was printed");
  const auto arguments = std::make_shared<ShowArguments>();
  command
      ->add_option("RESULTS", arguments->results,
                   "results of run-sweep, or, as text, of advise, "
                   "diagnose and gap, e.g. show mine.json")
      ->type_name("FILE")
      ->required();
  AddFormat(*command,
            "text, markdown, csv (a line for each cell), json, or gbench "
            "(Google Benchmark's JSON of one result), e.g. --format csv",
            arguments->format);
  OnAsked(*command, run, [arguments] { return RunShow(*arguments); });
}

}  // namespace attnbench
