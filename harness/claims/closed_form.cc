#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "harness/base/arrays.h"
#include "harness/base/purposes.h"
#include "harness/claims/computed.h"
#include "harness/inputs/workload.h"
#include "harness/sweep/sweep.h"
#include "mechanisms/description.h"
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

Config ExactConfig() {
  return DefaultConfig(Monotonic().Describe(), Mode::kExpect);
}

Config ClosedForm(const std::string& preset) {
  Config config = ExactConfig();
  config.variant = "parallel";
  config.options["preset"] = preset;
  return config;
}

struct ClosedFormInputs {
  std::string precision = "f64";
  double term_eps = 0, denominator_eps = 0;  // 0: without clipping
  double least_p = 0, greatest_p = 1;
  Index memory_length = 1, output_length = 1;
  int draws = 1;

  static void Fields(auto& self, auto& visit) {
    const Rule clip{.minimum = 0, .maximum = 1, .may_be_absent = true};
    const Rule probability{.minimum = 0, .maximum = 1};
    visit("precision", self.precision,
          Rule{.one_of = {"f64"}, .may_be_absent = true});
    visit("term_eps", self.term_eps, clip);
    visit("denominator_eps", self.denominator_eps, clip);
    visit("least_p", self.least_p, probability);
    visit("greatest_p", self.greatest_p, probability);
    visit("memory_length", self.memory_length, kAtLeastOne);
    visit("output_length", self.output_length, kAtLeastOne);
    visit("draws", self.draws, kAtLeastOne);
  }
};

Config ClosedForm(const ClosedFormInputs& inputs) {
  Config config = ClosedForm("none");
  config.options["term_eps"] = inputs.term_eps;
  config.options["denominator_eps"] = inputs.denominator_eps;
  return config;
}

Table<double> UniformP(const ClosedFormInputs& inputs, std::uint64_t seed,
                       int draw) {
  const double least = inputs.least_p;
  Table<double> p(inputs.output_length, inputs.memory_length);
  for (std::size_t n = 0; n < p.values.size(); ++n) {
    const auto words =
        Philox(seed, kClaimsPurpose, static_cast<std::uint32_t>(draw), n);
    p.values[n] = least + (inputs.greatest_p - least) * Uniform24(words[0]);
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

ComputedRows ClosedFormError(const ClosedFormInputs& inputs,
                             std::uint64_t seed) {
  double largest = 0;
  for (int draw = 0; draw < inputs.draws; ++draw) {
    const Table<double> p = UniformP(inputs, seed, draw);
    const double error = LargestError(SelectionOf(ClosedForm(inputs), p),
                                      SelectionOf(ExactConfig(), p));
    // An error that is not finite is larger than any bound.
    largest = std::isnan(error) ? std::numeric_limits<double>::infinity()
                                : std::max(largest, error);
  }
  return {ComputedRow({}, largest)};
}

ComputedRows ClosedFormNotFinite(const ClosedFormInputs& inputs,
                                 std::uint64_t seed) {
  std::int64_t count = 0;
  for (int draw = 0; draw < inputs.draws; ++draw) {
    const Table<double> alpha =
        SelectionOf(ClosedForm(inputs), UniformP(inputs, seed, draw));
    count += std::ranges::count_if(
        alpha.values, [](double value) { return !std::isfinite(value); });
  }
  return {ComputedRow({}, static_cast<double>(count))};
}

struct StartedCase {
  std::vector<double> p = {};
  Index start = 1;

  static void Fields(auto& self, auto& visit) {
    visit("p", self.p, Rule{.minimum = 0, .maximum = 1, .min_items = 1});
    visit("start", self.start,
          Rule{.minimum = 1, .maximum = static_cast<double>(self.p.size())});
  }
};

struct DenominatorOneInputs {
  std::string preset = {};
  std::vector<StartedCase> cases = {};

  static void Fields(auto& self, auto& visit) {
    visit("preset", self.preset, OptionRule("monotonic", "preset"));
    visit("cases", self.cases);
  }
};

ComputedRows DenominatorOneError(const DenominatorOneInputs& inputs,
                                 std::uint64_t /*seed*/) {
  ComputedRows rows;
  for (const auto& [p, start] : inputs.cases) {
    Table<double> both(2, static_cast<Index>(p.size()));
    const std::size_t before = Size(start - 1);
    both.values[before] = 1;
    std::ranges::copy(p, both.view().Row(1).begin());
    const bool one_before = std::ranges::any_of(
        std::span(p).first(before), [](double value) { return value == 1; });
    const double error =
        LargestError(SelectionOf(ClosedForm(inputs.preset), both),
                     SelectionOf(ExactConfig(), both));
    rows.push_back(ComputedRow({{"p_of_one_before_start", one_before}}, error));
  }
  return rows;
}

// ---- decay ------------------------------------------------------------------

using Vector = std::vector<double>;

struct DecayInputs {
  std::string energy = {};
  std::vector<double> biases = {};
  Index memory_length = 1, dim = 1;
  int draws = 1;

  static void Fields(auto& self, auto& visit) {
    visit("energy", self.energy, AxisRule("energy"));
    visit("biases", self.biases, Rule{.min_items = 1});
    visit("memory_length", self.memory_length, kAtLeastOne);
    visit("dim", self.dim, kAtLeastOne);
    visit("draws", self.draws, Rule{.minimum = 1, .maximum = kMostDraws});
  }
};

// The logarithm of the mass that passes each entry of the memory, ln prod(1 -
// p(n)), for a first output.
std::vector<Vector> LogMasses(const DecayInputs& inputs, double bias,
                              std::uint64_t seed) {
  const WorkloadSpec spec = {.workload = "uniform",
                             .memory_length = inputs.memory_length,
                             .output_length = 1,
                             .dim = inputs.dim,
                             .seed = seed};
  const auto workload = MakeWorkload<double>(spec);
  Config config = ExactConfig();
  config.dim = spec.dim;
  config.energy = *FindNamed<EnergyKind>(inputs.energy);
  std::vector<Vector> masses;
  for (int draw = 0; draw < inputs.draws; ++draw) {
    Sequence<double> sequence = workload->Draw(draw, config.energy)[0];
    sequence.inputs.energy_bias = bias;
    const auto energy = MakeEnergy(config, sequence.inputs,
                                   EnergyRole::kAttention, EnergyUse::kFew);
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
ComputedRows OfEachBias(const DecayInputs& inputs, std::uint64_t seed) {
  ComputedRows rows;
  for (const double bias : inputs.biases) {
    const Json label = Json::parse(fmt::format("{}", bias));  // 1, not 1.0
    const auto masses = LogMasses(inputs, bias, seed);
    for (std::size_t draw = 0; draw < masses.size(); ++draw) {
      rows.push_back(
          ComputedRow({{"bias", label}, {"draw", draw}}, Figure(masses[draw])));
    }
  }
  return rows;
}

ComputedRows ReachRatio(const DecayInputs& inputs, std::uint64_t seed) {
  const auto first = LogMasses(inputs, inputs.biases.front(), seed);
  const auto last = LogMasses(inputs, inputs.biases.back(), seed);
  ComputedRows rows;
  for (std::size_t draw = 0; draw < first.size(); ++draw) {
    rows.push_back(ComputedRow({{"draw", draw}},
                               ReachOf(last[draw]) / ReachOf(first[draw])));
  }
  return rows;
}

constexpr NamedQuantity kClosedFormQuantities[] = {
    {"closed_form_error", Reads<ClosedFormError>},
    {"closed_form_not_finite", Reads<ClosedFormNotFinite>},
    {"denominator_one_error", Reads<DenominatorOneError>},
    {"decay_linearity", Reads<OfEachBias<RSquared>>},
    {"reach", Reads<OfEachBias<ReachOf>>},
    {"reach_ratio", Reads<ReachRatio>}};

}  // namespace

std::span<const NamedQuantity> ClosedFormQuantities() {
  return kClosedFormQuantities;
}

}  // namespace attnbench
