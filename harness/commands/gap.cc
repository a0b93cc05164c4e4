// attnbench gap: how far training is from decoding where contexts are fed back,
// as a result file, and a table that ends in a sentence.
#include "harness/gap/gap.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/parse_text.h"
#include "harness/base/printable.h"
#include "harness/campaign/progress.h"
#include "harness/commands/commands.h"
#include "harness/commands/gap_text.h"
#include "harness/commands/options.h"
#include "harness/commands/trained_model.h"
#include "harness/gap/model_gap.h"
#include "harness/machine/environment.h"
#include "harness/system/result_file.h"

namespace attnbench {
namespace {

constexpr std::int64_t kMostGapLength = 4096;
constexpr std::int64_t kMostDecoders = 1000;
constexpr std::int64_t kMostGapPaths = 100'000'000;

struct GapArguments {
  GapRequest request;
  std::optional<std::int64_t> paths, states;
  std::optional<double> noise;
  ModelArguments model;
  std::string output;
  bool force = false;
  bool json = false;
};

// Larger numbers only overflow.
constexpr double kGreatestScale = 1e6;

double ParseScale(const std::string& text, const std::string& where,
                  double least) {
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error == std::errc() && end == last && value >= least &&
      value <= kGreatestScale) {
    return value;
  }
  throw UserError(where, fmt::format("'{}' is not a number from {} to {}",
                                     Shortened(text), least, kGreatestScale));
}

CLI::Option* AddNumbers(CLI::App& command, const std::string& name,
                        std::vector<double>& values, double least,
                        const std::string& help) {
  return AddParsed(command, name, values, "LIST", help,
                   [least](const std::string& text, const std::string& where) {
                     std::vector<double> numbers;
                     for (const std::string& one : SplitList(text, where)) {
                       numbers.push_back(ParseScale(one, where, least));
                     }
                     return numbers;
                   });
}

// What describes random decoders, and so not a model.
std::vector<CLI::Option*> AddDecoders(CLI::App& command, GapRequest& request) {
  GapSettings& settings = request.settings;
  return {
      AddNumbers(command, "--sharpness", request.sharpness, 0,
                 "what energies are multiplied by, e.g. --sharpness 2,8 "
                 "(default 1,4,16)"),
      AddNumbers(command, "--feedback", request.feedback, -kGreatestScale,
                 "what the last context is multiplied by when the state reads "
                 "it, e.g. --feedback 0,1 (default 0,0.3,1)"),
      AddNumber(command, "-T,--memory-length", settings.sizes.memory_length, 1,
                kMostGapLength,
                "entries of the memory, e.g. -T 40 (default "
                "80)"),
      AddNumber(command, "-U,--output-length", settings.sizes.output_length, 1,
                kMostGapLength, "outputs, e.g. -U 10 (default 20)"),
      AddNumber(command, "-d,--dim", settings.sizes.dim, 1, kMostGapLength,
                "numbers of an entry and of a state, e.g. -d 32 (default 16)"),
      AddNumber(command, "--vocabulary", settings.sizes.vocabulary, 2,
                kMostGapLength,
                "symbols, of which an output is one, e.g. --vocabulary 32 "
                "(default 16)"),
      AddNumber(command, "--decoders", settings.decoders, 2, kMostDecoders,
                "random decoders, whose mean has an interval, e.g. "
                "--decoders 16 (default 4)")};
}

void AddOptions(CLI::App& command, GapArguments& arguments) {
  CLI::Option* const model = AddModel(
      command, "a trained model in place of random decoders", arguments.model);
  for (CLI::Option* option : AddDecoders(command, arguments.request)) {
    model->excludes(option);
  }
  AddNumber(command, "--paths", arguments.paths, kGapBatches * kPathsOfNoise,
            kMostGapPaths,
            "paths of each decoder, e.g. --paths 60000 for a floor below 0.01 "
            "at T = 80 (default 4000), or of each sequence (default 10240)");
  AddParsed(command, "--noise", arguments.noise, "X",
            "standard deviation of what training adds to energies, e.g. "
            "--noise 0 (default 1; for a model what it was trained with)",
            [](const std::string& text, const std::string& where) {
              return ParseScale(text, where, 0);
            });
  AddNumber(command, "--states", arguments.states, 1, kMostGapLength + 1,
            "states that the lattice keeps after an output, e.g. --states 16 "
            "(default: T + 1, all)");
  AddSeed(command, "of decoders, paths and noise, e.g. --seed 7",
          arguments.request.seed);
  AddOutput(command, "the result file", "gap.json", arguments.output,
            arguments.force);
  command.add_flag("--json", arguments.json,
                   "print the result instead of the table, e.g. --json");
}

// Throws UserError unless the model has a gap, and its mean an interval.
void CheckHasGap(const TrainedModel& model) {
  const std::string& mechanism = model.settings().mechanism;
  if (mechanism != "monotonic") {
    throw UserError(model.path() + ": run.settings.mechanism",
                    "is " + mechanism +
                        "; expected a model of monotonic, whose outputs have "
                        "one entry as context");
  }
  if (model.num_sequences() < 2) {
    throw UserError("--sequences",
                    "an interval over sequences needs at least 2 of them");
  }
}

ModelGap MeasureModel(const GapArguments& arguments) {
  const TrainedModel model(arguments.model, arguments.output);
  CheckHasGap(model);
  CountProgress progress("gap", "sequences", /*tells_time=*/true);
  ModelGapRequest request = {
      .sequences = model.num_sequences(),
      .noise = arguments.noise.value_or(model.settings().noise),
      .states = arguments.states,
      .seed = arguments.request.seed,
      .on_progress = [&](std::size_t done, std::size_t total) {
        progress.ShowCount(done, total);
      }};
  request.paths = arguments.paths.value_or(request.paths);
  return MeasureModelGap(model.checkpoint(), model.path(), request);
}

GapResult MeasureDecoders(const GapArguments& arguments) {
  CountProgress progress("gap", "decoders", /*tells_time=*/true);
  GapRequest request = arguments.request;
  GapSettings& settings = request.settings;
  const std::int64_t all = settings.sizes.memory_length + 1;
  settings.states = std::min(all, arguments.states.value_or(all));
  settings.paths = arguments.paths.value_or(settings.paths);
  settings.noise = arguments.noise.value_or(settings.noise);
  request.on_progress = [&](std::size_t done, std::size_t total) {
    progress.ShowCount(done, total);
  };
  return MeasureGap(request);
}

// Writes and prints what measure() makes.
template <class Measure>
int Answer(const std::string& command_line, const GapArguments& arguments,
           const Measure& measure) {
  const std::optional<ResultFile> file =
      FileIfNamed(arguments.output, arguments.force);
  const Context context = MakeContext(command_line, arguments.request.seed);
  auto result = measure(arguments);
  result.context = context;
  const Json document = ToJson(result);
  if (file) file->Write(document);
  std::cout << (arguments.json ? JsonText(document) : GapText(result));
  return 0;
}

int RunGap(const std::string& command_line, const GapArguments& arguments) {
  return arguments.model.is_given()
             ? Answer(command_line, arguments, MeasureModel)
             : Answer(command_line, arguments, MeasureDecoders);
}

}  // namespace

void AddGap(CLI::App& app, const std::string& command_line, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "gap",
      "how far training is from decoding where a decoder reads its contexts");
  const auto arguments = std::make_shared<GapArguments>();
  AddOptions(*command, *arguments);
  OnAsked(*command, run, [command_line, arguments] {
    return RunGap(command_line, *arguments);
  });
}

}  // namespace attnbench
