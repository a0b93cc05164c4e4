// attnbench advise -T 400 -U 60: whether another attention than soft pays in a
// decoder of that shape, or of a trained model's, on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "harness/answers/advice.h"
#include "harness/base/error.h"
#include "harness/base/exit_code.h"
#include "harness/base/printable.h"
#include "harness/campaign/campaign.h"
#include "harness/commands/commands.h"
#include "harness/commands/options.h"
#include "harness/commands/sweep_plan.h"
#include "harness/commands/trained_model.h"
#include "harness/machine/environment.h"
#include "harness/machine/validity.h"
#include "harness/sweep/workload_name.h"
#include "harness/system/result_file.h"
#include "harness/system/temporary_folder.h"
#include "harness/training/held_out.h"

namespace attnbench {
namespace {

struct AdviseArguments {
  std::map<std::string, std::string> axes;  // axis name -> text
  std::optional<int> repetitions;
  std::optional<std::uint64_t> seed;
  ModelArguments model;
  std::string output;
  bool force = false;
  bool json = false;
};

// An axis of a shape, by the number or the name that it is there.
struct ShapeOption {
  const char* axis;
  std::variant<std::int64_t AdvisedShape::*, std::string AdvisedShape::*>
      member;
  const char* help;
};

const ShapeOption kShapeOptions[] = {
    {"memory_length", &AdvisedShape::memory_length,
     "entries of the memory (symbols of the source), e.g. -T 400"},
    {"output_length", &AdvisedShape::output_length,
     "outputs, e.g. -U 60 (as many as entries unless it is given)"},
    {"dim", &AdvisedShape::dim, "size of an entry and of a state, e.g. -d 512"},
    {"beam", &AdvisedShape::beam,
     "hypotheses of the beam search; 1 is greedy, e.g. --beam 8"},
    {"vocabulary", &AdvisedShape::vocabulary,
     "symbols, e.g. --vocabulary 16000"},
    {"layers", &AdvisedShape::layers,
     "LSTM layers of the decoder, and of each direction of the encoder, e.g. "
     "--layers 1"},
    {"encoder", &AdvisedShape::encoder,
     "timed, or given: the memory is there before the clock, e.g. --encoder "
     "given"},
    {"chunk_width", &AdvisedShape::chunk_width, "MoChA's window, e.g. -w 8"},
    {"num_contexts", &AdvisedShape::num_contexts,
     "contexts of the fixed-size memory, e.g. -K 64"},
    {"energy", &AdvisedShape::energy,
     "the energy function; only additive ones make scans read the whole "
     "memory, e.g. --energy normalized_additive"}};

std::string DefaultOf(const ShapeOption& option) {
  const AdvisedShape shape;
  return std::visit(
      [&](auto member) { return fmt::format("{}", shape.*member); },
      option.member);
}

void SetShape(const AxisValue& value, const std::string& option,
              std::int64_t& number) {
  if (!value.is_whole()) {
    throw UserError(option, fmt::format("'{}' is not a number; give one whole "
                                        "number, e.g. 400",
                                        value.Shown()));
  }
  number = value.whole();
}

void SetShape(const AxisValue& value, const std::string& /*option*/,
              std::string& name) {
  name = value.text();
}

// What a trained model stands for: its sizes, the mean lengths of its held-out
// sequences, and the share of the memory that its decoding by the threshold
// reads.
AdvisedShape ShapeOfModel(const TrainingSettings& settings,
                          const HeldOutDecoding& decoded) {
  Index entries = 0;
  for (const HeldOutSequence& sequence : decoded.sequences) {
    entries += sequence.source_length;
  }
  const auto mean = [&](Index sum) {
    return std::max<std::int64_t>(
        1, std::llround(static_cast<double>(sum) /
                        static_cast<double>(decoded.sequences.size())));
  };
  return {.memory_length = mean(entries),
          .output_length = mean(decoded.symbols),
          .dim = settings.dim,
          .vocabulary = kTaskVocabulary,
          .layers = 1,
          .chunk_width = settings.chunk_width,
          .num_contexts = settings.num_contexts,
          .memory_read = std::max(kLeastShare, decoded.choices->memory_read)};
}

// Puts what was typed in the place of what is there. Outputs that were not
// typed stay in proportion to the entries.
AdvisedShape ShapeOf(const AdviseArguments& arguments,
                     const AdvisedShape& start) {
  AdvisedShape shape = start;
  for (const ShapeOption& one : kShapeOptions) {
    const std::string& text = arguments.axes.at(one.axis);
    if (text.empty()) continue;
    const Axis& axis = FindAxis(one.axis, one.axis);
    const std::string option = OptionName(axis);
    const AxisValue value = CheckAxisValue(axis, Json(text), option);
    std::visit([&](auto member) { SetShape(value, option, shape.*member); },
               one.member);
  }
  if (arguments.axes.at("output_length").empty()) {
    shape.output_length = std::max<std::int64_t>(
        1, start.output_length * shape.memory_length / start.memory_length);
  }
  for (const auto& [length, option] :
       {std::pair(shape.memory_length, "--memory-length"),
        {shape.output_length, "--output-length"}}) {
    if (length <= kMostAdvisedLength) continue;
    throw UserError(option, fmt::format("is {}, at most {} are allowed", length,
                                        kMostAdvisedLength));
  }
  return shape;
}

int RunAdvise(const std::string& command_line,
              const AdviseArguments& arguments) {
  AdvisedShape shape;
  std::optional<AdvisedModel> advised;
  if (arguments.model.is_given()) {
    const TrainedModel model(arguments.model, arguments.output);
    model.CheckChooses();
    const HeldOutDecoding decoded =
        DecodeHeldOut(model.checkpoint(), model.path(), model.num_sequences());
    shape = ShapeOfModel(model.settings(), decoded);
    advised = AdvisedModel{*decoded.choices, model.Text()};
  }
  shape = ShapeOf(arguments, shape);
  SweepRequest request = AdviceRequest(shape);
  request.repetitions = arguments.repetitions.value_or(request.repetitions);
  request.seed = arguments.seed.value_or(request.seed);
  const std::optional<ResultFile> file =
      FileIfNamed(arguments.output, arguments.force);
  const Sweep sweep = PlanSweep(request);
  const TemporaryFolder folder;
  CampaignOptions options;
  options.output = folder.path() + "/advise.json";
  const CampaignEnd end =
      RunCampaign(sweep, MakeContext(command_line, sweep.seed), options);
  if (end.interrupted || !end.result) {
    std::cerr << "attnbench: advise: interrupted\n";
    return kInterrupted;
  }
  Advice advice = AdviceOf(*end.result, shape);
  advice.model = advised;
  if (file) file->Write(ToJson(advice));
  std::cout << (arguments.json ? JsonText(ToJson(advice))
                               : PrintableLines(AdviceText(advice)));
  return advice.context.valid ? kGood : kNotValid;
}

}  // namespace

void AddAdvise(CLI::App& app, const std::string& command_line, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "advise",
      "whether another attention than soft pays in a decoder of your shape");
  const auto arguments = std::make_shared<AdviseArguments>();
  for (const ShapeOption& one : kShapeOptions) {
    const Axis& axis = FindAxis(one.axis, one.axis);
    const std::string letter =
        axis.letter.empty() ? "" : "-" + axis.letter + ",";
    command
        ->add_option(letter + OptionName(axis), arguments->axes[one.axis],
                     one.help)
        ->type_name("VALUE")
        ->default_str(DefaultOf(one));
  }
  AddModel(*command,
           "start from the lengths and sizes of a trained model, and from the "
           "share of the memory that its decoding by the threshold reads; what "
           "is typed beside it counts instead",
           arguments->model);
  AddNumber(*command, "--repetitions", arguments->repetitions, 1,
            kMostRepetitions,
            "rounds; more make intervals narrower, e.g. --repetitions 40 "
            "(default 10)");
  AddSeed(*command, "of weights and sources, e.g. --seed 2", arguments->seed);
  AddOutput(*command, "the result file", "advice.json", arguments->output,
            arguments->force);
  command->add_flag("--json", arguments->json,
                    "print the result instead of the table, e.g. --json");
  OnAsked(*command, run, [command_line, arguments] {
    return RunAdvise(command_line, *arguments);
  });
}

}  // namespace attnbench
