// attnbench decode: chooses, by the threshold or sampled, on a user's own
// arrays, or on draw 0 of a workload, and prints one JSON object that a person
// reads and plots/ draws. Or it decodes with a trained model, and prints its
// outputs beside the targets.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/document.h"
#include "harness/base/error.h"
#include "harness/base/exit_code.h"
#include "harness/base/printable.h"
#include "harness/commands/case_request.h"
#include "harness/commands/commands.h"
#include "harness/commands/decode_model.h"
#include "harness/commands/options.h"
#include "harness/commands/sweep_options.h"
#include "harness/inputs/case_file.h"
#include "harness/inputs/workload.h"
#include "harness/latency/latency.h"
#include "harness/machine/environment.h"
#include "harness/sweep/workload_name.h"
#include "harness/system/result_file.h"
#include "mechanisms/description.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

// The axes that `decode` without a case file takes, one value each.
constexpr const char* kAxes[] = {
    "memory_length", "output_length", "dim",      "chunk_width",
    "num_contexts",  "energy",        "workload", "end"};

// The options; texts are empty where one was not given.
struct DecodeArguments {
  std::string case_path;
  std::string mechanism;
  std::map<std::string, std::string> axes;
  std::vector<std::string> options;  // key=value
  std::string threshold;
  std::uint64_t seed = 1;
  std::optional<Index> reference_length;
  ModelArguments model;
  std::string output;
  bool strict = false;
  bool sample = false;
  bool force = false;
};

void AddOptions(CLI::App& command, DecodeArguments& arguments) {
  CLI::Option* const case_file =
      command.add_option("CASE", arguments.case_path,
                         "case file, or - for standard input, e.g. "
                         "tests/golden/mocha-hard.json");
  command
      .add_option("--mechanism", arguments.mechanism,
                  "without a case file: decode draw 0 of a workload, e.g. "
                  "--mechanism mocha --workload planted -T 20 -U 10 -d 64")
      ->type_name("NAME")
      ->excludes(case_file);
  for (const char* name : kAxes) {
    const Axis& axis = FindAxis(name, "decode");
    const std::string letter =
        axis.letter.empty() ? "" : "-" + axis.letter + ",";
    command
        .add_option(letter + OptionName(axis), arguments.axes[name],
                    "without a case file: " + axis.help)
        ->type_name("VALUE")
        ->default_str(axis.default_value)
        ->excludes(case_file);
  }
  AddMechanismOptions(command,
                      "an option of the mechanism (see list) in place of the "
                      "case's, e.g. --option keys=on_demand; can be repeated",
                      "KEY=VALUE", arguments.options);
  command
      .add_option("--threshold", arguments.threshold,
                  "an entry is chosen where p >= threshold, e.g. --threshold "
                  "0.7")
      ->type_name("P");
  command.add_flag("--strict", arguments.strict,
                   "choose where p > threshold, e.g. --threshold 0.5 --strict");
  command.add_flag("--sample", arguments.sample,
                   "choose with probability p, e.g. --sample --seed 7");
  AddSeed(command, "of --sample and of the workload, e.g. --seed 7",
          arguments.seed);
  AddReferenceLength(command, arguments.reference_length);
  const std::vector<CLI::Option*> of_arrays = command.get_options(
      [&](const CLI::Option* one) { return one != command.get_help_ptr(); });
  CLI::Option* const model =
      AddModel(command,
               "decode held-out sequences with a trained model, and print its "
               "outputs beside the targets, and its error",
               arguments.model);
  for (CLI::Option* const one : of_arrays) model->excludes(one);
  AddOutput(command,
            "the file instead of standard output; with --model all sequences, "
            "as JSON, beside what is printed",
            "path.json", arguments.output, arguments.force);
}

// The cell of `request` with the options that were typed.
Cell CellWithOptions(const DecodeArguments& arguments, SweepRequest request) {
  std::map<std::string, OptionValue> given;
  const auto take = [&](const std::string& name, const OptionValue& value) {
    if (given.emplace(name, value).second) return;
    throw UserError("--option " + name, "more than one value is given");
  };
  if (!arguments.threshold.empty()) take("threshold", arguments.threshold);
  if (arguments.strict) take("strict", true);
  if (arguments.sample) take("sample", true);
  for (const auto& [name, values] : ParseMechanismOptions(arguments.options)) {
    for (const OptionValue& value : values) take(name, value);
  }
  for (const auto& [name, value] : given) request.options[name] = {value};
  Cell cell = OneCell(request);
  CheckOptionsOfVariant(given, cell.Text("variant"),
                        FindMechanism<double>(cell.mechanism)->Describe(),
                        "--option ");
  return cell;
}

// Entries count from 1; null stands for none.
struct DecodedHead {
  std::optional<Index> position = {}, begin = {}, end = {};
  std::vector<double> weights = {};
  Index inspected = 0;

  static void Fields(auto& self, auto& visit) {
    visit("position", self.position);
    visit("begin", self.begin);
    visit("end", self.end);
    visit("weights", self.weights);
    visit("inspected", self.inspected);
  }
};

// The first head, and all others where there are any.
struct DecodedStep : DecodedHead {
  std::optional<std::vector<DecodedHead>> further_heads = {};
  std::optional<std::vector<double>> context = {};  // of a memory

  static void Fields(auto& self, auto& visit) {
    const Rule optional{.absent_if_unset = true};
    DecodedHead::Fields(self, visit);
    visit("further_heads", self.further_heads, optional);
    visit("context", self.context, optional);
  }
};

// The printed document. A mechanism that decodes online has a latency, null
// without outputs; a workload has the last three members.
struct Decoded {
  std::string mechanism = {};
  Index memory_length = 0;
  std::vector<DecodedStep> steps = {};
  std::optional<std::optional<Latency>> latency = {};
  std::optional<std::string> workload = {};
  std::optional<Index> dim = {};
  std::optional<Context> context = {};

  static void Fields(auto& self, auto& visit) {
    const Rule optional{.absent_if_unset = true};
    visit("mechanism", self.mechanism);
    visit("memory_length", self.memory_length);
    visit("steps", self.steps);
    visit("latency", self.latency, optional);
    visit("workload", self.workload, optional);
    visit("dim", self.dim, optional);
    visit("context", self.context, optional);
  }
};

std::optional<Index> OneBased(Index index) {
  return index < 0 ? std::nullopt : std::optional(index + 1);
}

DecodedHead HeadOf(const StepResult<double>& head) {
  DecodedHead one = {.position = OneBased(head.position),
                     .weights = {head.weights.begin(), head.weights.end()},
                     .inspected = head.inspected};
  if (head.end > head.begin) {
    one.begin = head.begin + 1;
    one.end = head.end;
  }
  return one;
}

// Decodes one sequence; `where` names what its contexts are made from.
Decoded Decode(const Mechanism<double>& mechanism, Config config,
               const Sequence<double>& sequence, bool has_memory,
               std::optional<Index> reference_length,
               const std::string& where) {
  config.want_weights = true;
  Decoded decoded;
  std::vector<StepTrace> traces;
  const auto on_step = [&](Index i, const StepResult<double>& step) {
    DecodedStep one = {HeadOf(step)};
    if (step.next_head != nullptr) {
      std::vector<DecodedHead>& others = one.further_heads.emplace();
      ForEachHead(*step.next_head, [&](const StepResult<double>& head) {
        others.push_back(HeadOf(head));
      });
    }
    if (has_memory) {
      const auto context = sequence.contexts.Row(i);
      one.context = {context.begin(), context.end()};
    }
    decoded.steps.push_back(std::move(one));
    AddTraces(step, traces);
  };
  try {
    DecodeSequence(mechanism, config, sequence, on_step);
  } catch (const Unsupported& error) {
    throw UserError(where, error.what());
  }
  for (Index i = 0; i < sequence.contexts.rows; ++i) {
    for (const double value : sequence.contexts.Row(i)) {
      if (!std::isfinite(value)) {
        throw UserError(where, fmt::format("the context of output {} is beyond "
                                           "double precision",
                                           i + 1));
      }
    }
  }
  const Description& description = mechanism.Describe();
  const Index T = sequence.memory.rows;
  decoded.mechanism = description.name;
  decoded.memory_length = T;
  if (DecodesOnline(description, config)) {
    decoded.latency =
        LatencyOf(DelaysOf(traces, T), T,
                  reference_length.value_or(sequence.contexts.rows));
  } else if (reference_length) {
    throw UserError(kReferenceLength,
                    description.name + " does not decode online");
  }
  return decoded;
}

Decoded DecodeCase(const DecodeArguments& arguments) {
  const CaseFile file = ReadCaseFile(arguments.case_path);
  RefuseToReplace(file.inputs.files, arguments.output);
  const SweepRequest request = RequestOfCase(file, Mode::kDecode);
  CheckInputsOfMechanism(file);
  Config config = MakeConfig(CellWithOptions(arguments, request));
  const CaseSequence arrays(file, arguments.seed);
  config.dim = arrays.sequence().memory.cols;
  return Decode(*FindMechanism<double>(file.mechanism), config,
                arrays.sequence(), arrays.has_memory(),
                arguments.reference_length, file.path);
}

int RunDecodeModel(const DecodeArguments& arguments) {
  const AnswerFile file("", arguments.output, arguments.force);
  const DecodedModelAnswer answer =
      DecodeModel(arguments.model, arguments.output);
  if (!arguments.output.empty()) file.Write(answer.document);
  std::cout << PrintableLines(answer.text);
  return kGood;
}

Decoded DecodeWorkload(const DecodeArguments& arguments) {
  if (arguments.mechanism.empty()) {
    throw UserError("decode",
                    "a case file is needed, or --mechanism with a workload, or "
                    "--model");
  }
  CheckMechanismName(arguments.mechanism, "--mechanism");
  SweepRequest request;
  request.alternatives = {{arguments.mechanism, {}, {}}};
  request.axes["precision"] = {NameOf(Precision::kF64)};
  for (const auto& [name, text] : arguments.axes) {
    if (text.empty()) continue;
    const Axis& axis = FindAxis(name, "decode");
    const std::string where = OptionName(axis);
    request.axes[name] = ParseAxisValues(axis, text, where);
    if (request.axes[name].size() != 1) {
      throw UserError(where, fmt::format("'{}' is a list, must be one value",
                                         Shortened(text)));
    }
  }
  AddLengthsOfFiles(request.axes);
  const Cell cell = CellWithOptions(arguments, request);
  RefuseToReplace(FilesOf(ParseWorkload(cell.Text("workload"))),
                  arguments.output);
  const std::string where = "workload " + cell.Text("workload");
  try {
    const auto workload =
        MakeWorkload<double>({.workload = cell.Text("workload"),
                              .memory_length = cell.Int("memory_length"),
                              .output_length = cell.Int("output_length"),
                              .dim = cell.Int("dim"),
                              .batch = cell.Int("batch"),
                              .seed = arguments.seed});
    const Config config = MakeConfig(cell);
    const auto& mechanism = *FindMechanism<double>(cell.mechanism);
    if (cell.Int("batch") > 1) {
      std::cerr << fmt::format(
          "attnbench: {} has {} sequences; decodes the "
          "first\n",
          Printable(where), cell.Int("batch"));
    }
    Decoded decoded =
        Decode(mechanism, config,
               workload->DrawFor(mechanism.Describe(), 0, config.energy)[0],
               /*has_memory=*/true, arguments.reference_length, where);
    // A picture made from the output names these.
    decoded.workload = cell.Text("workload");
    decoded.dim = cell.Int("dim");
    decoded.context = MakeContext("attnbench decode", arguments.seed);
    return decoded;
  } catch (const WorkloadUnsupported& error) {
    throw UserError(where, error.what());
  } catch (const std::bad_alloc&) {
    throw UserError(where, "needs more memory than there is");
  }
}

}  // namespace

void AddDecode(CLI::App& app, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "decode",
      "decode a case file, or one draw of a workload, in f64; or held-out "
      "sequences with a trained model");
  const auto arguments = std::make_shared<DecodeArguments>();
  AddOptions(*command, *arguments);
  OnAsked(*command, run, [arguments]() -> int {
    if (arguments->model.is_given()) return RunDecodeModel(*arguments);
    const AnswerFile file(arguments->case_path, arguments->output,
                          arguments->force);
    file.Write(ToJson(arguments->case_path.empty() ? DecodeWorkload(*arguments)
                                                   : DecodeCase(*arguments)));
    return kGood;
  });
}

}  // namespace attnbench
