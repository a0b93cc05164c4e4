// attnbench decode: the hard process on a user's own arrays, or on draw 0 of a
// workload, as one JSON object that a person reads and plots/ draws.
#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/case_file.h"
#include "harness/commands/commands.h"
#include "harness/environment.h"
#include "harness/error.h"
#include "harness/sweep.h"
#include "harness/workload.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

// Those axes that `decode` without a case file takes, of one value each.
constexpr const char* kAxes[] = {
    "memory_length", "output_length", "dim",      "chunk_width",
    "num_contexts",  "energy",        "workload", "end"};

// As typed; empty where an option was not given.
struct Arguments {
  std::string case_path;
  std::string mechanism;
  std::map<std::string, std::string> axes;
  std::string threshold;
  std::string seed;
  bool strict = false;
  bool sample = false;
};

std::string OptionName(const Axis& axis) {
  std::string name = "--" + axis.name;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

void AddOptions(CLI::App& command, Arguments& arguments) {
  command.add_option("CASE", arguments.case_path,
                     "case file, e.g. tests/golden/mocha-hard.json");
  command
      .add_option("--mechanism", arguments.mechanism,
                  "without a case file: decode draw 0 of a workload, e.g. "
                  "--mechanism mocha --workload planted -T 20 -U 10 -d 64")
      ->type_name("NAME");
  for (const char* name : kAxes) {
    const Axis& axis = FindAxis(StandardAxes(), name, "decode");
    const std::string letter =
        axis.letter.empty() ? "" : "-" + axis.letter + ",";
    command
        .add_option(letter + OptionName(axis), arguments.axes[name],
                    "without a case file: " + axis.help)
        ->type_name("VALUE")
        ->default_str(axis.default_value);
  }
  command
      .add_option("--threshold", arguments.threshold,
                  "an entry is chosen where p >= threshold, e.g. --threshold "
                  "0.7")
      ->type_name("P");
  command.add_flag("--strict", arguments.strict,
                   "choose where p > threshold, e.g. --threshold 0.5 --strict");
  command.add_flag("--sample", arguments.sample,
                   "choose with probability p, e.g. --sample --seed 7");
  command
      .add_option("--seed", arguments.seed,
                  "of --sample and of the workload, e.g. --seed 7")
      ->type_name("N")
      ->default_str("1");
}

// The one cell of a request, with every value of its axes and options checked.
Cell OneCell(const SweepRequest& request) {
  const Sweep sweep = ExpandSweep(StandardAxes(), request);
  const Cell& cell = sweep.points.front().cells.front();
  if (cell.skip_reason.has_value()) {
    throw UserError(cell.mechanism, *cell.skip_reason);
  }
  return cell;
}

std::uint64_t Seed(const Arguments& arguments) {
  if (arguments.seed.empty()) return 1;
  return static_cast<std::uint64_t>(ParseInteger(
      arguments.seed, 0, std::numeric_limits<std::int64_t>::max(), "--seed"));
}

void TakeChoiceOptions(const Arguments& arguments, SweepRequest& request) {
  auto& options = request.options;
  if (!arguments.threshold.empty()) {
    options["threshold"] = {arguments.threshold};
  }
  if (arguments.strict) options["strict"] = {true};
  if (arguments.sample) options["sample"] = {true};
}

Json OneBased(Index index) {
  return index < 0 ? Json(nullptr) : Json(index + 1);
}

// Decodes one sequence; `where` names what its contexts are made from.
Json Decode(const Mechanism<double>& mechanism, Config config,
            const Sequence<double>& sequence, bool has_memory,
            const std::string& where) {
  config.want_weights = true;
  Json steps = Json::array();
  const auto on_step = [&](Index i, const StepResult<double>& step) {
    const bool any = step.end > step.begin;
    Json json = {{"position", OneBased(step.position)},
                 {"begin", any ? OneBased(step.begin) : Json(nullptr)},
                 {"end", any ? Json(step.end) : Json(nullptr)},
                 {"weights", step.weights},
                 {"inspected", step.inspected}};
    if (has_memory) json["context"] = sequence.contexts.Row(i);
    steps.push_back(std::move(json));
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
  return {{"mechanism", mechanism.Describe().name},
          {"memory_length", sequence.memory.memory.rows},
          {"steps", std::move(steps)}};
}

// A case's option is an axis that its mechanism declares, the variant, or one
// of the mechanism's own options.
SweepRequest RequestOf(const CaseFile& file,
                       const Mechanism<double>& mechanism) {
  const std::string where = file.path + ": options";
  const Description description = mechanism.Describe();
  std::vector<std::string> valid = {"variant"};
  for (const std::string& axis : description.axes) {
    if (axis == "chunk_width" || axis == "end") valid.push_back(axis);
  }
  const std::size_t num_axes = valid.size();
  for (const OptionSpec& option : description.options) {
    valid.push_back(option.name);
  }
  SweepRequest request;
  request.alternatives = {{file.mechanism, {}, {}}};
  for (const auto& [name, value] : file.options.items()) {
    const auto found = std::find(valid.begin(), valid.end(), name);
    if (found == valid.end()) {
      throw UserError(where, UnknownName("option", name, valid));
    }
    const std::string place = where + "." + name;
    if (found < valid.begin() + static_cast<std::ptrdiff_t>(num_axes)) {
      const Axis& axis = FindAxis(StandardAxes(), name, where);
      if (value.is_string() && value.get<std::string>().starts_with('=')) {
        throw UserError(place, "refers to an axis; give the value itself");
      }
      request.axes[name] = {CheckAxisValue(StandardAxes(), axis, value, place)};
    } else if (value.is_boolean()) {
      request.options[name] = {value.get<bool>()};
    } else if (value.is_number_unsigned() &&
               value.get<std::uint64_t>() >
                   static_cast<std::uint64_t>(
                       std::numeric_limits<std::int64_t>::max())) {
      throw UserError(place, fmt::format("{} is too large", value.dump()));
    } else if (value.is_number_integer()) {
      request.options[name] = {value.get<std::int64_t>()};
    } else if (value.is_number()) {
      request.options[name] = {value.get<double>()};
    } else if (value.is_string()) {
      request.options[name] = {value.get<std::string>()};
    } else {
      throw UserError(place, "must be a number, a text, true or false");
    }
  }
  request.axes["precision"] = {"f64"};
  if (file.Length('K') > 0) request.axes["num_contexts"] = {file.Length('K')};
  try {
    OneCell(request);
  } catch (const UserError& error) {
    throw UserError(where, error.what());
  }
  return request;
}

void CheckVariant(const std::string& variant, const std::string& where) {
  static const std::vector<std::string> kVariants = {"exact", "reference"};
  if (std::find(kVariants.begin(), kVariants.end(), variant) ==
      kVariants.end()) {
    throw UserError(where, UnknownName("variant", variant, kVariants));
  }
}

Json DecodeCase(const Arguments& arguments) {
  if (!arguments.mechanism.empty()) {
    throw UserError("--mechanism", "stands in the case file already");
  }
  for (const auto& [name, text] : arguments.axes) {
    if (text.empty()) continue;
    throw UserError(OptionName(FindAxis(StandardAxes(), name, "decode")),
                    "is for decoding a workload; a case file says it itself");
  }
  const CaseFile file = ReadCaseFile(arguments.case_path);
  const Mechanism<double>& mechanism = *FindMechanism<double>(file.mechanism);
  SweepRequest request = RequestOf(file, mechanism);
  CheckInputsOfMechanism(file);
  TakeChoiceOptions(arguments, request);
  Config config = MakeConfig(OneCell(request));
  CheckVariant(config.variant, file.path + ": options.variant");

  const bool has_memory = file.Find("memory") != nullptr;
  CaseArray memory =
      has_memory ? *file.Find("memory")
                 : CaseArray{std::vector<double>(Size(file.Length('T'))),
                             file.Length('T'), 1};
  config.dim = memory.cols;
  const GivenScores<double> scores = file.Scores();
  std::vector<double> contexts(Size(file.Length('U') * memory.cols));
  Sequence<double> sequence;
  sequence.inputs.given = &scores;
  sequence.inputs.seed = Seed(arguments);
  sequence.inputs.expected_length = memory.rows;
  sequence.memory.memory = memory.view();
  sequence.contexts = {contexts.data(), file.Length('U'), memory.cols};
  return Decode(mechanism, config, sequence, has_memory, file.path);
}

Json DecodeWorkload(const Arguments& arguments) {
  if (arguments.mechanism.empty()) {
    throw UserError("decode",
                    "a case file is needed, or --mechanism with a workload");
  }
  CheckMechanismName(arguments.mechanism, "--mechanism");
  SweepRequest request;
  request.alternatives = {{arguments.mechanism, {}, {}}};
  request.axes["precision"] = {"f64"};
  for (const auto& [name, text] : arguments.axes) {
    if (text.empty()) continue;
    const Axis& axis = FindAxis(StandardAxes(), name, "decode");
    const std::string where = OptionName(axis);
    request.axes[name] = ParseAxisValues(StandardAxes(), axis, text, where);
    if (request.axes[name].size() != 1) {
      throw UserError(where,
                      fmt::format("'{}' is a list; one value is wanted", text));
    }
  }
  TakeChoiceOptions(arguments, request);
  const Cell cell = OneCell(request);
  const std::string where = "workload " + cell.Text("workload");
  try {
    const auto workload =
        MakeWorkload<double>({.workload = cell.Text("workload"),
                              .memory_length = cell.Int("memory_length"),
                              .output_length = cell.Int("output_length"),
                              .dim = cell.Int("dim"),
                              .seed = Seed(arguments)});
    const Config config = MakeConfig(cell);
    Json json = Decode(*FindMechanism<double>(cell.mechanism), config,
                       workload->Draw(0, config.energy)[0],
                       /*has_memory=*/true, where);
    // What a picture made from it says below.
    json["workload"] = cell.Text("workload");
    json["dim"] = cell.Int("dim");
    json["context"] = MakeContext("attnbench decode", Seed(arguments));
    return json;
  } catch (const WorkloadUnsupported& error) {
    throw UserError(where, error.what());
  } catch (const std::bad_alloc&) {
    throw UserError(where, "needs more memory than there is");
  }
}

}  // namespace

void AddDecode(CLI::App& app, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "decode", "decode a case file, or one draw of a workload, in f64");
  const auto arguments = std::make_shared<Arguments>();
  AddOptions(*command, *arguments);
  command->callback([&run, arguments] {
    run = [arguments] {
      const Json json = arguments->case_path.empty()
                            ? DecodeWorkload(*arguments)
                            : DecodeCase(*arguments);
      // Numbers are printed with as many digits, up to 17, as give the same
      // double back.
      std::cout << json.dump() << '\n';
      return 0;
    };
  });
}

}  // namespace attnbench
