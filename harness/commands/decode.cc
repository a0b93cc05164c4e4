// attnbench decode: the hard process on a user's own arrays, or on draw 0 of a
// workload, as one JSON object that a person reads and plots/ draws.
#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "harness/commands/case_request.h"
#include "harness/commands/commands.h"
#include "harness/environment.h"
#include "harness/error.h"
#include "harness/latency.h"
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
  std::string reference_length;
  bool strict = false;
  bool sample = false;
};

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
  AddSeed(command, "of --sample and of the workload, e.g. --seed 7",
          arguments.seed);
  AddReferenceLength(command, arguments.reference_length);
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
            const std::string& reference_length, const std::string& where) {
  config.want_weights = true;
  Json steps = Json::array();
  std::vector<StepTrace> traces;
  const auto on_step = [&](Index i, const StepResult<double>& step) {
    const bool any = step.end > step.begin;
    Json json = {{"position", OneBased(step.position)},
                 {"begin", any ? OneBased(step.begin) : Json(nullptr)},
                 {"end", any ? Json(step.end) : Json(nullptr)},
                 {"weights", step.weights},
                 {"inspected", step.inspected}};
    if (has_memory) json["context"] = sequence.contexts.Row(i);
    steps.push_back(std::move(json));
    traces.push_back({.begin = step.begin, .end = step.end});
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
  const Description description = mechanism.Describe();
  const Index T = sequence.memory.memory.rows;
  Json json = {{"mechanism", description.name},
               {"memory_length", T},
               {"steps", std::move(steps)}};
  if (description.online) {
    json["latency"] = LatencyJson(LatencyOf(
        DelaysOf(traces, T), T,
        ParseReferenceLength(reference_length, sequence.contexts.rows)));
  } else if (!reference_length.empty()) {
    throw UserError(kReferenceLength,
                    description.name + " does not decode online");
  }
  return json;
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
  SweepRequest request = RequestOfCase(file, "decode");
  CheckInputsOfMechanism(file);
  TakeChoiceOptions(arguments, request);
  Config config = MakeConfig(OneCell(request));
  const CaseSequence arrays(file, ParseSeed(arguments.seed));
  config.dim = arrays.sequence().memory.memory.cols;
  return Decode(*FindMechanism<double>(file.mechanism), config,
                arrays.sequence(), arrays.has_memory(),
                arguments.reference_length, file.path);
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
                              .seed = ParseSeed(arguments.seed)});
    const Config config = MakeConfig(cell);
    Json json = Decode(*FindMechanism<double>(cell.mechanism), config,
                       workload->Draw(0, config.energy)[0],
                       /*has_memory=*/true, arguments.reference_length, where);
    // What a picture made from it says below.
    json["workload"] = cell.Text("workload");
    json["dim"] = cell.Int("dim");
    json["context"] =
        MakeContext("attnbench decode", ParseSeed(arguments.seed));
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
