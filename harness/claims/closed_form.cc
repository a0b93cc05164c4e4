#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "harness/base/arrays.h"
#include "harness/base/error.h"
#include "harness/base/purposes.h"
#include "harness/claims/computed.h"
#include "harness/inputs/workload.h"
#include "harness/sweep/default_config.h"
#include "harness/sweep/sweep.h"
#include "harness/system/child_process.h"
#include "harness/system/source_tree.h"
#include "mechanisms/energy/energy.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

const Mechanism<double>& Monotonic() {
  return *FindMechanism<double>("monotonic");
}

// The alpha [U, T] that follows from p.
Table<double> SelectionOf(const Config& config, const Table<double>& p) {
  Sequence<double> sequence;
  sequence.inputs.scores.Set("p_choose", p.view());
  Table<double> attention(p.rows, p.cols);
  Table<double> selection(p.rows, p.cols);
  Monotonic().Expect(
      config, sequence,
      {.attention = attention.view(), .selection = selection.view()});
  return selection;
}

Config ExactConfig() { return DefaultConfig(Monotonic().Describe(), "expect"); }

Config ClosedForm(const std::string& preset) {
  Config config = ExactConfig();
  config.variant = "parallel";
  config.options["preset"] = preset;
  return config;
}

// The closed form without any clipping.
Config PlainClosedForm() {
  Config config = ClosedForm("none");
  config.options["term_eps"] = 0.0;
  config.options["denominator_eps"] = 0.0;
  return config;
}

Table<double> UniformP(const Json& inputs, std::uint64_t seed, int draw) {
  const double least = inputs.at("least_p");
  const double greatest = inputs.at("greatest_p");
  Table<double> p(inputs.at("output_length"), inputs.at("memory_length"));
  for (std::size_t n = 0; n < p.values.size(); ++n) {
    const auto words =
        Philox(seed, kClaimsPurpose, static_cast<std::uint32_t>(draw), n);
    p.values[n] = least + (greatest - least) * Uniform24(words[0]);
  }
  return p;
}

double LargestError(const Table<double>& a, const Table<double>& b) {
  double largest = 0;
  for (std::size_t n = 0; n < a.values.size(); ++n) {
    const double error = std::fabs(a.values[n] - b.values[n]);
    if (std::isnan(error)) return error;
    largest = std::max(largest, error);
  }
  return largest;
}

std::vector<Json> ClosedFormError(const Json& inputs, std::uint64_t seed) {
  double largest = 0;
  for (int draw = 0; draw < inputs.at("draws").get<int>(); ++draw) {
    const Table<double> p = UniformP(inputs, seed, draw);
    const double error = LargestError(SelectionOf(PlainClosedForm(), p),
                                      SelectionOf(ExactConfig(), p));
    // An error that is not finite is larger than any bound.
    largest = std::isnan(error) ? std::numeric_limits<double>::infinity()
                                : std::max(largest, error);
  }
  return {ComputedRow(Json::object(), largest)};
}

std::vector<Json> ClosedFormNotFinite(const Json& inputs, std::uint64_t seed) {
  std::int64_t count = 0;
  for (int draw = 0; draw < inputs.at("draws").get<int>(); ++draw) {
    const Table<double> alpha =
        SelectionOf(PlainClosedForm(), UniformP(inputs, seed, draw));
    count += std::ranges::count_if(
        alpha.values, [](double value) { return !std::isfinite(value); });
  }
  return {ComputedRow(Json::object(), static_cast<double>(count))};
}

std::vector<Json> DenominatorOneError(const Json& inputs,
                                      std::uint64_t /*seed*/) {
  std::vector<Json> rows;
  for (const Json& one : inputs.at("cases")) {
    const auto p = one.at("p").get<std::vector<double>>();
    const auto start = one.at("start").get<std::size_t>() - 1;
    Table<double> both(2, static_cast<Index>(p.size()));
    both.values.at(start) = 1;
    std::ranges::copy(p, both.view().Row(1).begin());
    const bool one_before = std::ranges::any_of(
        std::span(p).first(start), [](double value) { return value == 1; });
    const double error =
        LargestError(SelectionOf(ClosedForm(inputs.at("preset")), both),
                     SelectionOf(ExactConfig(), both));
    rows.push_back(ComputedRow({{"p_of_one_before_start", one_before}}, error));
  }
  return rows;
}

// ---- cumulative products ----------------------------------------------------

using Vector = std::vector<double>;

// The gradient of the sum of all out(i) = prod over n <= i of x(n), as
// automatic differentiation of cumprod makes it: element k is the sum of all
// products from k on, over x(k).
Vector ByDivision(const Vector& x) {
  Vector gradient(x);
  std::partial_sum(x.begin(), x.end(), gradient.begin(), std::multiplies<>());
  std::partial_sum(gradient.rbegin(), gradient.rend(), gradient.rbegin());
  for (std::size_t k = 0; k < x.size(); ++k) gradient[k] /= x[k];
  return gradient;
}

Vector ByProductOfOthers(const Vector& x) {
  Vector gradient(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    double product = 1;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i != k) product *= x[i];
      if (i >= k) gradient[k] += product;
    }
  }
  return gradient;
}

std::optional<Vector> GradientBy(const std::string& algorithm,
                                 const Vector& x) {
  if (algorithm == "division") return ByDivision(x);
  if (algorithm == "product_of_others") return ByProductOfOthers(x);
  return {};
}

// Inputs and gradients are small whole numbers, which have no rounding.
double CountWrong(const Vector& found, const Vector& right) {
  double wrong = found.size() == right.size() ? 0 : 1;
  for (std::size_t k = 0; k < std::min(found.size(), right.size()); ++k) {
    wrong += found[k] == right[k] ? 0 : 1;
  }
  return wrong;
}

std::vector<Json> CumprodGradientWrong(const Json& inputs,
                                       std::uint64_t /*seed*/) {
  std::vector<Json> rows;
  for (const Json& algorithm : inputs.at("algorithms")) {
    double wrong = 0;
    for (const Json& one : inputs.at("cases")) {
      const auto gradient = GradientBy(algorithm, one.at("x"));
      wrong +=
          gradient ? CountWrong(*gradient, one.at("gradient")) : std::nan("");
    }
    rows.push_back(ComputedRow({{"algorithm", algorithm}}, wrong));
  }
  return rows;
}

// Asks experiments/peers/cumprod.py for a line; none if it cannot answer.
std::optional<std::string> AskFramework(const Json& question,
                                        std::string& why) {
  constexpr std::chrono::seconds kLimit{60};
  const std::string script =
      FindInSources("claims", "experiments/peers/cumprod.py");
  ChildProcess process({.arguments = {"/usr/bin/env", FindPython(), script},
                        .environment = EnvironmentWith({})});
  const auto deadline = ChildProcess::Clock::now() + kLimit;
  process.Send(question.dump() + "\n", deadline);
  std::optional<std::string> answer = process.ReadLine(deadline);
  if (!answer) process.Kill();
  process.Stop();
  if (!answer) why = "no answer of the framework: " + process.LastWords();
  return answer;
}

std::vector<Json> CumprodGradientOfFramework(const Json& inputs,
                                             std::uint64_t /*seed*/) {
  std::string why;
  const std::optional<std::string> line = AskFramework(inputs.at("cases"), why);
  if (!line) return {MissingRow(Json::object(), why)};
  const Json answer = Json::parse(*line);
  double wrong = 0;
  for (std::size_t n = 0; n < inputs.at("cases").size(); ++n) {
    // A gradient that is not finite is null.
    Vector gradient;
    for (const Json& value : answer.at("gradients").at(n)) {
      gradient.push_back(value.is_null() ? std::nan("") : value.get<double>());
    }
    wrong += CountWrong(gradient, inputs.at("cases")[n].at("gradient"));
  }
  return {ComputedRow({{"framework", answer.at("framework")}}, wrong)};
}

// ---- decay ------------------------------------------------------------------

// The logarithm of the mass that passes each entry of the memory, ln prod(1 -
// p(n)), for a first output.
std::vector<Vector> LogMasses(const Json& inputs, double bias,
                              std::uint64_t seed) {
  const WorkloadSpec spec = {.workload = "uniform",
                             .memory_length = inputs.at("memory_length"),
                             .output_length = 1,
                             .dim = inputs.at("dim"),
                             .seed = seed};
  const auto workload = MakeWorkload<double>(spec);
  Config config = ExactConfig();
  config.dim = spec.dim;
  const std::string energy_name = inputs.at("energy");
  const auto* const kind =
      std::ranges::find(kEnergies, energy_name, &NamedValue<EnergyKind>::name);
  if (kind == std::end(kEnergies)) {
    throw UserError("quantity decay", "no energy '" + energy_name + "'");
  }
  config.energy = kind->value;
  std::vector<Vector> masses;
  for (int draw = 0; draw < inputs.at("draws").get<int>(); ++draw) {
    Sequence<double> sequence = workload->Draw(draw, config.energy)[0];
    sequence.inputs.energy_bias = bias;
    const auto energy =
        MakeEnergy(config, sequence.inputs, EnergyRole::kAttention);
    energy->Append(sequence.memory);
    energy->SetState(0, sequence.states.Row(0));
    Vector energies(Size(spec.memory_length));
    energy->Evaluate(0, spec.memory_length, energies.data());
    Vector& mass = masses.emplace_back();
    double log_mass = 0;
    for (const double e : energies) {
      log_mass -= std::log1p(std::exp(e));  // 1 - p = 1 / (1 + exp(e))
      mass.push_back(log_mass);
    }
  }
  return masses;
}

// R squared of a least-squares line through the values.
double RSquared(const Vector& y) {
  const auto n = static_cast<double>(y.size());
  const double x_mean = (n - 1) / 2;
  const double y_mean = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (std::size_t j = 0; j < y.size(); ++j) {
    const double x = static_cast<double>(j) - x_mean;
    xx += x * x;
    xy += x * (y[j] - y_mean);
    yy += (y[j] - y_mean) * (y[j] - y_mean);
  }
  return xy * xy / (xx * yy);
}

// The number of entries until at most half of the mass goes on; infinite if
// that never happens.
double ReachOf(const Vector& log_mass) {
  const auto half = std::ranges::find_if(
      log_mass, [](double value) { return value <= std::log(0.5); });
  return half == log_mass.end()
             ? std::numeric_limits<double>::infinity()
             : static_cast<double>(half - log_mass.begin() + 1);
}

template <double (*Figure)(const Vector&)>
std::vector<Json> OfEachBias(const Json& inputs, std::uint64_t seed) {
  std::vector<Json> rows;
  for (const Json& bias : inputs.at("biases")) {
    const auto masses = LogMasses(inputs, bias, seed);
    for (std::size_t draw = 0; draw < masses.size(); ++draw) {
      rows.push_back(
          ComputedRow({{"bias", bias}, {"draw", draw}}, Figure(masses[draw])));
    }
  }
  return rows;
}

std::vector<Json> ReachRatio(const Json& inputs, std::uint64_t seed) {
  const auto first = LogMasses(inputs, inputs.at("biases").front(), seed);
  const auto last = LogMasses(inputs, inputs.at("biases").back(), seed);
  std::vector<Json> rows;
  for (std::size_t draw = 0; draw < first.size(); ++draw) {
    rows.push_back(ComputedRow({{"draw", draw}},
                               ReachOf(last[draw]) / ReachOf(first[draw])));
  }
  return rows;
}

constexpr NamedQuantity kQuantities[] = {
    {"closed_form_error", ClosedFormError},
    {"closed_form_not_finite", ClosedFormNotFinite},
    {"denominator_one_error", DenominatorOneError},
    {"cumprod_gradient_wrong", CumprodGradientWrong},
    {"cumprod_gradient_of_framework", CumprodGradientOfFramework},
    {"decay_linearity", OfEachBias<RSquared>},
    {"reach", OfEachBias<ReachOf>},
    {"reach_ratio", ReachRatio}};

}  // namespace

std::span<const NamedQuantity> ClosedFormQuantities() { return kQuantities; }

}  // namespace attnbench
