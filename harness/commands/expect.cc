// attnbench expect: the training expectation of a user's own arrays, and its
// gradient, as one JSON object.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "harness/commands/case_request.h"
#include "harness/commands/commands.h"
#include "harness/error.h"
#include "harness/expected_latency.h"
#include "harness/score_fields.h"
#include "harness/sharpness.h"
#include "mechanisms/registry.h"
#include "mechanisms/sample.h"
#include "mechanisms/training/noise.h"

namespace attnbench {
namespace {

struct Arguments {
  std::string case_path;
  std::string seed;
  std::string latency_samples;
  std::string reference_length;
  std::string sharpness;
};

constexpr char kLatencySamples[] = "--latency-samples";
constexpr char kSharpness[] = "--sharpness";
constexpr Index kMostPaths = 100'000'000;  // a number of each is kept

// The tables that a mechanism writes, by the keys that they are printed under.
// One that is not wanted is not there, and its view has no data.
class Tables {
 public:
  MatrixView<double> Add(const std::string& key, Index rows, Index cols) {
    return arrays_.emplace_back(key, Table<double>(rows, cols)).second.view();
  }
  bool empty() const { return arrays_.empty(); }

  // Lists of rows. JSON has no NaN and no infinity: such a number is null.
  Json ToJson() const {
    Json json = Json::object();
    for (const auto& [key, array] : arrays_) {
      Json& rows = json[key] = Json::array();
      for (Index r = 0; r < array.rows; ++r) {
        rows.push_back(array.view().Row(r));
      }
    }
    return json;
  }
  // "2 of attention, 1 of context": how many are not finite; empty where none.
  std::string NotFinite() const {
    std::string text;
    for (const auto& [key, array] : arrays_) {
      const auto count = std::ranges::count_if(
          array.values, [](double value) { return !std::isfinite(value); });
      if (count == 0) continue;
      text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", count, key);
    }
    return text;
  }

 private:
  // A view stays where it is when this grows: the values do not move.
  std::vector<std::pair<std::string, Table<double>>> arrays_;
};

// The gradients of the scores that the file has.
Gradients<double> GradientsOf(const CaseFile& file, Tables& tables) {
  const auto like = [&](const char* score) {
    const Table<double>* const given = file.Find(score);
    if (given == nullptr) return MatrixView<double>();
    return tables.Add(score, given->rows, given->cols);
  };
  return ScoreGradientsOf<double>(like);
}

// A published approximation may overflow or divide by zero, and that is a
// result; what is exact is finite wherever it can be represented.
void ReportNotFinite(const std::string& numbers, const std::string& variant,
                     const std::string& path) {
  if (numbers.empty()) return;
  if (variant == "exact" || variant == "reference") {
    throw UserError(path, "beyond double precision: " + numbers);
  }
  std::cerr << fmt::format("attnbench: {}: not finite, printed as null: {}\n",
                           path, numbers);
}

Json Expect(const CaseFile& file, const Config& config,
            const CaseSequence& arrays) {
  const Mechanism<double>& mechanism = *FindMechanism<double>(file.mechanism);
  const Index U = file.Length('U');
  const Index T = file.Length('T');
  Tables tables;
  Tables gradients;
  Expectation<double> out;
  out.attention = tables.Add("attention", U, T);
  if (ChoosesAtRandom(mechanism.Describe())) {
    out.selection = tables.Add("selection", U, T);
  }
  Sequence<double> sequence = arrays.sequence();
  sequence.contexts = {};
  if (arrays.has_memory()) {
    sequence.contexts = tables.Add("context", U, file.Length('d'));
  }
  if (config.mode == "gradient") {
    Cotangent<double> cotangent;
    cotangent.attention = file.View("cotangent");
    mechanism.Gradient(config, sequence, cotangent, out,
                       GradientsOf(file, gradients));
  } else {
    mechanism.Expect(config, sequence, out);
  }
  std::string not_finite = tables.NotFinite();
  if (const std::string more = gradients.NotFinite(); !more.empty()) {
    not_finite += (not_finite.empty() ? "" : ", ") + more + " (gradients)";
  }
  ReportNotFinite(not_finite, config.variant, file.path);
  Json json = {{"mechanism", file.mechanism}, {"variant", config.variant}};
  json.update(tables.ToJson());
  if (!gradients.empty()) json["gradients"] = gradients.ToJson();
  return json;
}

// The metrics that are not linear in the delays.
Json OfExpectedDelays(const Latency& latency) {
  Json json = LatencyJson(latency);
  json.erase("ap");
  return json;
}

Json SampledJson(const SampledLatency& sampled, double expected_ap) {
  Json json = {{"paths", sampled.ap.size()}};
  for (const auto& [name, value] : kLatencyFigures) {
    json[name] = {{"mean", sampled.mean.*value},
                  {"standard_error", sampled.standard_error.*value}};
  }
  Json& errors = json["ap_errors"] = Json::array();
  for (const BatchError& error : BatchErrors(sampled.ap, expected_ap)) {
    errors.push_back({{"paths", error.paths},
                      {"batches", error.batches},
                      {"rms", error.rms}});
  }
  return json;
}

Json LatencyOfCase(const Arguments& arguments, const CaseFile& file,
                   const Config& config, const CaseSequence& arrays) {
  const Index U = file.Length('U');
  const Index reference_length =
      ParseReferenceLength(arguments.reference_length, U);
  const bool has_p = file.Find("p_choose") != nullptr;
  Tables tables;
  Gradients<double> gradients;
  (has_p ? gradients.p_choose : gradients.energies) =
      tables.Add(has_p ? "p_choose" : "energies", U, file.Length('T'));
  const ExpectedLatency expected =
      ExpectLatency(config, arrays.sequence(), reference_length, gradients);
  Json json = {
      {"ap", expected.ap},
      {"ap_gradient", tables.ToJson()},
      {"expected_delays", expected.delays},
      {"of_expected_delays", OfExpectedDelays(expected.of_expected_delays)}};
  if (arguments.latency_samples.empty()) return json;
  const Index num_paths =
      ParseInteger(arguments.latency_samples, 2, kMostPaths, kLatencySamples);
  if (NoiseOf(config) > 0) {
    throw UserError(kLatencySamples,
                    "paths are decoded, and decoding has no noise: leave out "
                    "option noise of the case");
  }
  json["sampled"] =
      SampledJson(SampleLatency(*FindMechanism<double>(file.mechanism), config,
                                arrays.sequence(), reference_length, num_paths),
                  expected.ap);
  return json;
}

double ParseSharpness(const std::string& text) {
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || !(value > 0) ||
      !std::isfinite(value)) {
    throw UserError(kSharpness,
                    fmt::format("'{}' is not a number above 0", text));
  }
  return value;
}

// A distance for each sharpness that was asked for.
Json SharpnessOfCase(const Arguments& arguments, const CaseFile& file,
                     const Config& config, const CaseSequence& arrays) {
  const Mechanism<double>& mechanism = *FindMechanism<double>(file.mechanism);
  Json distances = Json::array();
  for (const std::string& text : SplitList(arguments.sharpness, kSharpness)) {
    const HardDistance distance =
        DistanceToHard(mechanism, config, arrays.sequence(),
                       arrays.has_memory(), ParseSharpness(text));
    distances.push_back({{"sharpness", distance.sharpness},
                         {"attention_distance", distance.attention},
                         {"context_distance", nullptr}});
    if (distance.context.has_value()) {
      distances.back()["context_distance"] = *distance.context;
    }
  }
  return distances;
}

// What only mechanisms have that choose by the scan.
void AddScanFigures(const Arguments& arguments, const CaseFile& file,
                    const Config& config, const CaseSequence& arrays,
                    Json& json) {
  if (ChoosesByScan(FindMechanism<double>(file.mechanism)->Describe())) {
    json["latency"] = LatencyOfCase(arguments, file, config, arrays);
    if (arguments.sharpness.empty()) return;
    json["sharpness"] = SharpnessOfCase(arguments, file, config, arrays);
    return;
  }
  for (const auto& [option, value] :
       {std::pair(kLatencySamples, &arguments.latency_samples),
        std::pair(kReferenceLength, &arguments.reference_length),
        std::pair(kSharpness, &arguments.sharpness)}) {
    if (value->empty()) continue;
    throw UserError(option, file.mechanism + " does not choose entries online");
  }
}

Json ExpectCase(const Arguments& arguments) {
  if (arguments.case_path.empty()) {
    throw UserError(
        "expect", "a case file is needed, e.g. tests/golden/mocha-plain.json");
  }
  const CaseFile file = ReadCaseFile(arguments.case_path);
  const std::string mode =
      file.Find("cotangent") != nullptr ? "gradient" : "expect";
  const SweepRequest request = RequestOfCase(file, mode);
  CheckInputsOfMechanism(file);
  try {
    const CaseSequence arrays(file, ParseSeed(arguments.seed));
    Config config = MakeConfig(OneCell(request));
    config.dim = arrays.sequence().memory.memory.cols;
    Json json = Expect(file, config, arrays);
    AddScanFigures(arguments, file, config, arrays, json);
    return json;
  } catch (const Unsupported& error) {
    throw UserError(file.path, error.what());
  } catch (const std::bad_alloc&) {
    throw UserError(file.path, "needs more memory than there is");
  }
}

}  // namespace

void AddExpect(CLI::App& app, Command& run) {
  CLI::App* const command = app.add_subcommand(
      "expect",
      "the training expectation of a case file, and its gradient where the "
      "file has a cotangent, in f64");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("CASE", arguments->case_path,
                      "case file, e.g. tests/golden/mocha-plain.json");
  AddSeed(*command,
          "of the case's option noise and of --latency-samples, e.g. --seed 7",
          arguments->seed);
  command
      ->add_option(kLatencySamples, arguments->latency_samples,
                   "also the mean latency of N paths that are sampled, e.g. "
                   "--latency-samples 100000 --seed 7")
      ->type_name("N");
  AddReferenceLength(*command, arguments->reference_length);
  command
      ->add_option(kSharpness, arguments->sharpness,
                   "also how far this is from what is decoded, with energies "
                   "times each of these, e.g. --sharpness 0.5,1,2,4,8")
      ->type_name("LIST");
  command->callback([&run, arguments] {
    run = [arguments] {
      // Numbers are printed with as many digits, up to 17, as give the same
      // double back.
      std::cout << ExpectCase(*arguments).dump() << '\n';
      return 0;
    };
  });
}

}  // namespace attnbench
