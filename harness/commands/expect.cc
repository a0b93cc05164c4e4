// attnbench expect: prints the training expectation of a user's own arrays, and
// its gradient, as one JSON object.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/document.h"
#include "harness/base/error.h"
#include "harness/base/parse_text.h"
#include "harness/base/printable.h"
#include "harness/commands/case_request.h"
#include "harness/commands/commands.h"
#include "harness/commands/options.h"
#include "harness/latency/expected_latency.h"
#include "harness/latency/sharpness.h"
#include "harness/system/result_file.h"
#include "mechanisms/description.h"
#include "mechanisms/registry.h"
#include "mechanisms/sample.h"
#include "mechanisms/training/noise.h"

namespace attnbench {
namespace {

struct ExpectArguments {
  std::string case_path;
  std::uint64_t seed = 1;
  std::optional<Index> latency_samples;
  std::optional<Index> reference_length;
  std::vector<double> sharpness;
  std::string output;
  bool force = false;
};

constexpr char kLatencySamples[] = "--latency-samples";
constexpr char kSharpness[] = "--sharpness";
constexpr Index kMostPaths = 100'000'000;  // a number of each path is kept

struct MeanAndError {
  double mean = 0, standard_error = 0;

  static void Fields(auto& self, auto& visit) {
    visit("mean", self.mean);
    visit("standard_error", self.standard_error);
  }
};

struct SampledResult {
  std::size_t paths = 0;
  MeanAndError ap = {}, al = {}, laal = {}, dal = {};
  std::vector<BatchError> ap_errors = {};

  static void Fields(auto& self, auto& visit) {
    visit("paths", self.paths);
    visit("ap", self.ap);
    visit("al", self.al);
    visit("laal", self.laal);
    visit("dal", self.dal);
    visit("ap_errors", self.ap_errors);
  }
};

// The metrics that are not linear in the delays.
struct OfExpectedDelays {
  double al = 0, laal = 0, dal = 0;

  static void Fields(auto& self, auto& visit) {
    visit("al", self.al);
    visit("laal", self.laal);
    visit("dal", self.dal);
  }
};

// The keys are the names of the scores.
using ScoreTables = std::map<std::string, Table<double>>;

struct LatencyResult {
  double ap = 0;
  ScoreTables ap_gradient = {};
  std::vector<double> expected_delays = {};
  OfExpectedDelays of_expected_delays = {};
  std::optional<SampledResult> sampled = {};

  static void Fields(auto& self, auto& visit) {
    visit("ap", self.ap);
    visit("ap_gradient", self.ap_gradient);
    visit("expected_delays", self.expected_delays);
    visit("of_expected_delays", self.of_expected_delays);
    visit("sampled", self.sampled, Rule{.absent_if_unset = true});
  }
};

// The printed document. A number that is not finite is null.
struct Expected {
  std::string mechanism = {}, variant = {};
  Table<double> attention = {};
  std::optional<Table<double>> selection = {}, context = {};
  std::optional<ScoreTables> gradients = {};
  std::optional<LatencyResult> latency = {};
  std::optional<std::vector<HardDistance>> sharpness = {};

  static void Fields(auto& self, auto& visit) {
    const Rule optional{.absent_if_unset = true};
    visit("mechanism", self.mechanism);
    visit("variant", self.variant);
    visit("attention", self.attention);
    visit("selection", self.selection, optional);
    visit("context", self.context, optional);
    visit("gradients", self.gradients, optional);
    visit("latency", self.latency, optional);
    visit("sharpness", self.sharpness, optional);
  }
};

// Counts numbers that are not finite: "2 of attention, 1 of context".
class NotFinite {
 public:
  void Add(const std::string& name, const Table<double>& array) {
    const auto count = std::ranges::count_if(
        array.values, [](double value) { return !std::isfinite(value); });
    if (count == 0) return;
    text_ += fmt::format("{}{} of {}", text_.empty() ? "" : ", ", count, name);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Makes gradient arrays for the scores that the file has.
Gradients<double> GradientsOf(const CaseFile& file, ScoreTables& tables) {
  Gradients<double> gradients;
  for (const auto& [name, score] : file.Scores()) {
    tables[name] = Table<double>(score.rows, score.cols);
    gradients.scores.Set(name, tables[name].view());
  }
  return gradients;
}

// A published approximation may overflow or divide by zero, and that is a
// result; an exact variant is finite wherever the numbers can be represented.
void ReportNotFinite(const Expected& expected, bool must_agree,
                     const std::string& path) {
  NotFinite not_finite;
  not_finite.Add("attention", expected.attention);
  if (expected.selection) not_finite.Add("selection", *expected.selection);
  if (expected.context) not_finite.Add("context", *expected.context);
  if (expected.gradients) {
    for (const auto& [score, gradient] : *expected.gradients) {
      not_finite.Add("the gradient of " + score, gradient);
    }
  }
  const std::string& numbers = not_finite.text();
  if (numbers.empty()) return;
  if (must_agree) {
    throw UserError(path, "beyond double precision: " + numbers);
  }
  std::cerr << fmt::format("attnbench: {}: not finite, printed as null: {}\n",
                           path, numbers);
}

Expected Expect(const CaseFile& file, const Config& config,
                const CaseSequence& arrays) {
  const Mechanism<double>& mechanism = *FindMechanism<double>(file.mechanism);
  const Index U = file.Length('U');
  const Index T = file.Length('T');
  Expected expected = {.mechanism = file.mechanism,
                       .variant = config.variant,
                       .attention = Table<double>(U, T)};
  Expectation<double> out;
  out.attention = expected.attention.view();
  if (ChoosesAtRandom(mechanism.Describe())) {
    out.selection = expected.selection.emplace(U, T).view();
  }
  Sequence<double> sequence = arrays.sequence();
  sequence.contexts = {};
  if (arrays.has_memory()) {
    sequence.contexts = expected.context.emplace(U, file.Length('d')).view();
  }
  if (config.mode == Mode::kGradient) {
    Cotangent<double> cotangent;
    cotangent.attention = file.View("cotangent");
    mechanism.Gradient(config, sequence, cotangent, out,
                       GradientsOf(file, expected.gradients.emplace()));
  } else {
    mechanism.Expect(config, sequence, out);
  }
  if (expected.gradients && expected.gradients->empty()) {
    expected.gradients.reset();
  }
  ReportNotFinite(expected, MustAgree(mechanism.Describe(), config), file.path);
  return expected;
}

SampledResult Sampled(const SampledLatency& sampled, double expected_ap) {
  const auto of = [&](double Latency::*figure) {
    return MeanAndError{sampled.mean.*figure, sampled.standard_error.*figure};
  };
  return {.paths = sampled.ap.size(),
          .ap = of(&Latency::ap),
          .al = of(&Latency::al),
          .laal = of(&Latency::laal),
          .dal = of(&Latency::dal),
          .ap_errors = BatchErrors(sampled.ap, expected_ap)};
}

LatencyResult LatencyOfCase(const ExpectArguments& arguments,
                            const CaseFile& file, const Config& config,
                            const CaseSequence& arrays) {
  const Index U = file.Length('U');
  const Index reference_length = arguments.reference_length.value_or(U);
  const bool has_p = file.Find("p_choose") != nullptr;
  LatencyResult result;
  Table<double>& gradient = result.ap_gradient[has_p ? "p_choose" : "energies"];
  gradient = Table<double>(U, file.Length('T'));
  Gradients<double> gradients;
  gradients.scores.Set(has_p ? "p_choose" : "energies", gradient.view());
  const ExpectedLatency expected =
      ExpectLatency(config, arrays.sequence(), reference_length, gradients);
  result.ap = expected.ap;
  result.expected_delays = expected.delays;
  const Latency& of_delays = expected.of_expected_delays;
  result.of_expected_delays = {of_delays.al, of_delays.laal, of_delays.dal};
  if (!arguments.latency_samples) return result;
  if (NoiseOf(config) > 0) {
    throw UserError(kLatencySamples,
                    "paths are decoded, and decoding has no noise: leave out "
                    "option noise of the case");
  }
  result.sampled =
      Sampled(SampleLatency(*FindMechanism<double>(file.mechanism), config,
                            arrays.sequence(), reference_length,
                            *arguments.latency_samples),
              expected.ap);
  return result;
}

std::vector<double> ParseSharpness(const std::string& list,
                                   const std::string& option) {
  std::vector<double> values;
  for (const std::string& text : SplitList(list, option)) {
    double& value = values.emplace_back();
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc() || end != last || !(value > 0) ||
        !std::isfinite(value)) {
      throw UserError(
          option, fmt::format("'{}' is not a number above 0", Shortened(text)));
    }
  }
  return values;
}

// The distance at each sharpness that was asked for.
std::vector<HardDistance> SharpnessOfCase(const ExpectArguments& arguments,
                                          const CaseFile& file,
                                          const Config& config,
                                          const CaseSequence& arrays) {
  const Mechanism<double>& mechanism = *FindMechanism<double>(file.mechanism);
  std::vector<HardDistance> distances;
  for (const double sharpness : arguments.sharpness) {
    distances.push_back(DistanceToHard(mechanism, config, arrays.sequence(),
                                       arrays.has_memory(), sharpness));
  }
  return distances;
}

// Only mechanisms that choose by the scan have these.
void AddScanFigures(const ExpectArguments& arguments, const CaseFile& file,
                    const Config& config, const CaseSequence& arrays,
                    Expected& expected) {
  if (ChoosesByScan(FindMechanism<double>(file.mechanism)->Describe())) {
    expected.latency = LatencyOfCase(arguments, file, config, arrays);
    if (arguments.sharpness.empty()) return;
    expected.sharpness = SharpnessOfCase(arguments, file, config, arrays);
    return;
  }
  for (const auto& [option, is_given] :
       {std::pair(kLatencySamples, arguments.latency_samples.has_value()),
        std::pair(kReferenceLength, arguments.reference_length.has_value()),
        std::pair(kSharpness, !arguments.sharpness.empty())}) {
    if (!is_given) continue;
    throw UserError(option, file.mechanism + " does not choose entries online");
  }
}

Expected ExpectCase(const ExpectArguments& arguments) {
  if (arguments.case_path.empty()) {
    throw UserError(
        "expect", "a case file is needed, e.g. tests/golden/mocha-plain.json");
  }
  const CaseFile file = ReadCaseFile(arguments.case_path);
  RefuseToReplace(file.inputs.files, arguments.output);
  const Mode mode =
      file.Find("cotangent") != nullptr ? Mode::kGradient : Mode::kExpect;
  const SweepRequest request = RequestOfCase(file, mode);
  CheckInputsOfMechanism(file);
  try {
    const CaseSequence arrays(file, arguments.seed);
    Config config = MakeConfig(OneCell(request));
    config.dim = arrays.sequence().memory.cols;
    Expected expected = Expect(file, config, arrays);
    AddScanFigures(arguments, file, config, arrays, expected);
    return expected;
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
  const auto arguments = std::make_shared<ExpectArguments>();
  command->add_option("CASE", arguments->case_path,
                      "case file, or - for standard input, e.g. "
                      "tests/golden/mocha-plain.json");
  AddSeed(*command,
          "of the case's option noise and of --latency-samples, e.g. --seed 7",
          arguments->seed);
  AddNumber(*command, kLatencySamples, arguments->latency_samples, 2,
            kMostPaths,
            "also the mean latency of N paths that are sampled, e.g. "
            "--latency-samples 100000 --seed 7");
  AddReferenceLength(*command, arguments->reference_length);
  AddParsed(*command, kSharpness, arguments->sharpness, "LIST",
            "also how far this is from what is decoded, with energies times "
            "each of these, e.g. --sharpness 0.5,1,2,4,8",
            ParseSharpness);
  AddOutput(*command, "the file instead of standard output", "alpha.json",
            arguments->output, arguments->force);
  OnAsked(*command, run, [arguments] {
    const AnswerFile file(arguments->case_path, arguments->output,
                          arguments->force);
    file.Write(ToJson(ExpectCase(*arguments)));
    return 0;
  });
}

}  // namespace attnbench
