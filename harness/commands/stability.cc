// attnbench stability: errors of every variant against the exact one, as a
// result file, and a short table of the worst.
#include "harness/stability.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/commands/commands.h"
#include "harness/commands/output_options.h"
#include "harness/environment.h"
#include "harness/progress.h"
#include "harness/result_file.h"

namespace attnbench {
namespace {

struct Arguments {
  std::string output;
  std::string seed;
  bool quick = false;
  bool force = false;
  bool json = false;
};

void AddOptions(CLI::App& command, Arguments& arguments) {
  AddOutput(command, "the result file", "stability.json", arguments.output,
            arguments.force);
  command.add_flag("--quick", arguments.quick,
                   "fewer lengths and draws, e.g. --quick -o quick.json");
  AddSeed(command, "of everything that is drawn, e.g. --seed 7",
          arguments.seed);
  command.add_flag("--json", arguments.json,
                   "print the result instead of the table, e.g. --json");
}

// The largest of a key over the rows of a subject; null where there is none.
class Worst {
 public:
  void Add(const Json& row, const char* key) {
    if (row.at(key).is_null()) return;
    const auto value = row.at(key).get<double>();
    largest_ = std::max(largest_.value_or(value), value);
  }
  std::string Text() const {
    return largest_ ? fmt::format("{:.2g}", *largest_) : "-";
  }

 private:
  std::optional<double> largest_;
};

struct Line {
  std::string name;
  Worst error_f32, error_f64, mass_f32, gradient_f32;
  std::int64_t not_finite = 0;
};

std::string NameOf(const Json& row) {
  std::string name = row.at("mechanism").get<std::string>() + " " +
                     row.at("variant").get<std::string>();
  if (!row.at("preset").is_null()) {
    name += " " + row.at("preset").get<std::string>();
  }
  return name;
}

Line& FindLine(std::vector<Line>& lines, const std::string& name) {
  const auto found = std::ranges::find(lines, name, &Line::name);
  if (found != lines.end()) return *found;
  lines.emplace_back().name = name;
  return lines.back();
}

std::string TableText(const Json& document) {
  std::vector<Line> lines;
  for (const Json& row : document.at("rows")) {
    Line& line = FindLine(lines, NameOf(row));
    const bool is_f32 = row.at("precision") == "f32";
    (is_f32 ? line.error_f32 : line.error_f64).Add(row, "attention_error");
    if (is_f32) line.mass_f32.Add(row, "mass_error");
    if (row.at("not_finite").get<std::int64_t>() > 0) ++line.not_finite;
  }
  for (const Json& row : document.at("gradients")) {
    if (row.at("precision") != "f32") continue;
    FindLine(lines, NameOf(row)).gradient_f32.Add(row, "largest_gradient");
  }
  std::string text = fmt::format("{:<36}{:>10}{:>10}{:>10}{:>12}{:>12}\n",
                                 "largest", "error f32", "error f64",
                                 "mass f32", "gradient", "not finite");
  for (const Line& line : lines) {
    text += fmt::format("{:<36}{:>10}{:>10}{:>10}{:>12}{:>12}\n", line.name,
                        line.error_f32.Text(), line.error_f64.Text(),
                        line.mass_f32.Text(), line.gradient_f32.Text(),
                        line.not_finite);
  }
  return text +
         "(errors of attention and of its sum over the memory, of finite rows; "
         "gradient: largest |dL/d score| in f32; not finite: rows with a NaN "
         "or an infinity)\n";
}

int RunStability(const std::string& command_line, const Arguments& arguments) {
  const std::uint64_t seed = ParseSeed(arguments.seed);
  std::optional<ResultFile> file;
  if (!arguments.output.empty()) {
    file.emplace(arguments.output, arguments.force);
  }
  const Json context = MakeContext(command_line, seed);
  // The costly points come first: of what is left nothing is known.
  CountProgress progress("stability", "points", /*tells_time=*/false, stderr,
                         isatty(STDERR_FILENO) == 1);
  const Json document = StabilityDocument(
      {.quick = arguments.quick,
       .seed = seed,
       .on_progress = [&](std::size_t done,
                          std::size_t total) { progress.Tell(done, total); }},
      context);
  if (file) file->Write(document);
  std::cout << (arguments.json ? document.dump() + "\n" : TableText(document));
  return 0;
}

}  // namespace

void AddStability(CLI::App& app, const std::string& command_line,
                  Command& run) {
  CLI::App* const command = app.add_subcommand(
      "stability",
      "error and gradient error of every variant against the exact one, over "
      "length, sharpness of p and precision");
  const auto arguments = std::make_shared<Arguments>();
  AddOptions(*command, *arguments);
  command->callback([&run, command_line, arguments] {
    run = [command_line, arguments] {
      return RunStability(command_line, *arguments);
    };
  });
}

}  // namespace attnbench
