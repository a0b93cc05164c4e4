// attnbench stability: errors of every variant against the exact one, as a
// result file, and a short table of the worst.
#include "harness/stability/stability.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/campaign/progress.h"
#include "harness/commands/commands.h"
#include "harness/commands/options.h"
#include "harness/machine/environment.h"
#include "harness/stability/inputs.h"
#include "harness/system/result_file.h"

namespace attnbench {
namespace {

struct StabilityArguments {
  std::string output;
  std::uint64_t seed = 1;
  bool quick = false;
  bool force = false;
  bool json = false;
};

void AddOptions(CLI::App& command, StabilityArguments& arguments) {
  AddOutput(command, "the result file", "stability.json", arguments.output,
            arguments.force);
  command.add_flag("--quick", arguments.quick,
                   "fewer lengths and draws, e.g. --quick -o quick.json");
  AddSeed(command, "of everything that is drawn, e.g. --seed 7",
          arguments.seed);
  command.add_flag("--json", arguments.json,
                   "print the result instead of the table, e.g. --json");
}

// The largest value of a figure over the rows of a subject that have it.
class Worst {
 public:
  void Add(const Figure& figure) {
    if (figure) largest_ = std::max(largest_.value_or(*figure), *figure);
  }
  std::string Text() const {
    return largest_ ? fmt::format("{:.2g}", *largest_) : "-";
  }

 private:
  Figure largest_;
};

struct Line {
  std::string name;
  Worst error_f32, error_f64, mass_f32, gradient_f32;
  std::int64_t not_finite = 0;
};

std::string NameOf(const StabilityLabels& row) {
  return row.mechanism + " " + FormName(row.mechanism, row.variant, row.preset);
}

Line& FindLine(std::vector<Line>& lines, const std::string& name) {
  const auto found = std::ranges::find(lines, name, &Line::name);
  if (found != lines.end()) return *found;
  lines.emplace_back().name = name;
  return lines.back();
}

std::string TableText(const StabilityResult& result) {
  std::vector<Line> lines;
  for (const StabilityRow& row : result.rows) {
    Line& line = FindLine(lines, NameOf(row));
    const bool is_f32 = row.precision == Precision::kF32;
    (is_f32 ? line.error_f32 : line.error_f64).Add(row.attention_error);
    if (is_f32) line.mass_f32.Add(row.mass_error);
    if (row.not_finite > 0) ++line.not_finite;
  }
  for (const StabilityGradient& row : result.gradients) {
    if (row.precision != Precision::kF32) continue;
    FindLine(lines, NameOf(row)).gradient_f32.Add(row.largest_gradient);
  }
  std::size_t width = 36;
  for (const Line& line : lines) width = std::max(width, line.name.size());
  constexpr const char* kRow = "{:<{}}{:>10}{:>10}{:>10}{:>12}{:>12}\n";
  std::string text =
      fmt::format(kRow, "largest", width, "error f32", "error f64", "mass f32",
                  "gradient", "not finite");
  for (const Line& line : lines) {
    text += fmt::format(kRow, line.name, width, line.error_f32.Text(),
                        line.error_f64.Text(), line.mass_f32.Text(),
                        line.gradient_f32.Text(), line.not_finite);
  }
  return text +
         "(errors of attention and of its sum over the memory, of finite rows; "
         "gradient: largest |dL/d score| in f32; not finite: rows with a NaN "
         "or an infinity)\n";
}

int RunStability(const std::string& command_line,
                 const StabilityArguments& arguments) {
  const std::optional<ResultFile> file =
      FileIfNamed(arguments.output, arguments.force);
  const Context context = MakeContext(command_line, arguments.seed);
  // The costly points come first, so the finished ones tell no time for the
  // rest.
  CountProgress progress("stability", "points", /*tells_time=*/false);
  StabilityResult result = MeasureStability(
      {.quick = arguments.quick,
       .seed = arguments.seed,
       .on_progress = [&](std::size_t done, std::size_t total) {
         progress.ShowCount(done, total);
       }});
  result.context = context;
  const Json document = ToJson(result);
  if (file) file->Write(document);
  std::cout << (arguments.json ? JsonText(document) : TableText(result));
  return 0;
}

}  // namespace

void AddStability(CLI::App& app, const std::string& command_line,
                  Command& run) {
  CLI::App* const command = app.add_subcommand(
      "stability",
      "error and gradient error of every variant against the exact one, over "
      "length, sharpness of p and precision");
  const auto arguments = std::make_shared<StabilityArguments>();
  AddOptions(*command, *arguments);
  OnAsked(*command, run, [command_line, arguments] {
    return RunStability(command_line, *arguments);
  });
}

}  // namespace attnbench
