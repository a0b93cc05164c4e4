#include "harness/verify/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "harness/base/error.h"
#include "harness/base/hash.h"
#include "harness/base/purposes.h"
#include "harness/inputs/declared_inputs.h"
#include "harness/machine/environment.h"
#include "harness/sweep/axes.h"
#include "mechanisms/description.h"
#include "mechanisms/sample.h"

namespace attnbench {
namespace {

using Names = std::vector<std::string>;
using Sizes = std::vector<std::pair<Index, Index>>;  // T, U

constexpr Index kContextDim = 2;  // d where scores are given
constexpr Index kStateDim = 16;   // d elsewhere
// A mechanism takes 1/sqrt(d) if none is set; this is another scale.
constexpr double kEnergyScale = 0.4;

const Names kFamilies = {"uniform", "saturated", "recommended", "adversarial"};

// ---- the grid ---------------------------------------------------------------

// Adds the cases of one mechanism, crossed over the axes that it declares.
class Grid {
 public:
  Grid(const Description& description,
       const std::map<std::string, OptionValue>& options)
      : about_(description),
        base_(DefaultConfig(description)),
        options_(options) {}

  struct Crossing {
    VerifyMethod method;
    Sizes sizes;
    Names scores;
    bool widths = true;  // all widths, else w = 3
    bool from_states = false;
    bool energies = false;  // all energies, else dot
    bool options = false;   // all values that options allow
  };

  void Add(const Crossing& crossing) {
    for (const auto& [T, U] : crossing.sizes) {
      for (const std::string& scores : crossing.scores) {
        VerifyCase of_size{.mechanism = about_.name,
                           .method = crossing.method,
                           .memory_length = T,
                           .output_length = U,
                           .scores = scores,
                           .from_states = crossing.from_states,
                           .config = base_,
                           .name = fmt::format("T={} U={}", T, U)};
        of_size.config.dim = crossing.from_states ? kStateDim : kContextDim;
        CrossAxes(crossing, {of_size});
      }
    }
  }
  std::vector<VerifyCase> Take() { return std::move(cases_); }

 private:
  using Cases = std::vector<VerifyCase>;

  bool Declares(const char* axis) const { return Contains(about_.axes, axis); }

  // Crosses all cases with all values: set(value, config) gives the text.
  template <class Values, class Set>
  static Cases Cross(const Cases& cases, const Values& values, const Set& set) {
    Cases crossed;
    for (const VerifyCase& one : cases) {
      for (const auto& value : values) {
        crossed.push_back(one);
        crossed.back().name += ' ';
        crossed.back().name += set(value, crossed.back().config);
      }
    }
    return crossed;
  }

  void CrossAxes(const Crossing& crossing, Cases cases) {
    if (FindOption(about_, "chunk_width") != nullptr) {
      const Index T = cases[0].memory_length;
      std::vector<Index> widths = {1, 2, 3, kInfiniteWidth};
      if (T + 1 > 3) widths.push_back(T + 1);
      if (!crossing.widths) widths = {3};
      cases = Cross(cases, widths, [](Index w, Config& config) {
        config.options["chunk_width"] = w;
        return w == kInfiniteWidth ? std::string("w=inf")
                                   : fmt::format("w={}", w);
      });
    }
    if (FindOption(about_, "num_contexts") != nullptr) {
      cases = Cross(cases, std::array<Index, 3>{1, 3, 8},
                    [](Index K, Config& config) {
                      config.options["num_contexts"] = K;
                      return fmt::format("K={}", K);
                    });
    }
    if (Declares("energy") && crossing.from_states) {
      constexpr std::span kEnergies(ValueNames<EnergyKind>::kAll);
      const std::size_t count = crossing.energies ? kEnergies.size() : 1;
      cases = Cross(cases, kEnergies.first(count),
                    [](const auto& energy, Config& config) {
                      config.energy = energy.value;
                      return fmt::format("energy={}", energy.name);
                    });
    }
    if (Declares("end")) {
      cases = Cross(cases, ValueNames<EndPolicy>::kAll,
                    [](const auto& end, Config& config) {
                      config.end = end.value;
                      return fmt::format("end={}", end.name);
                    });
    }
    for (const OptionSpec& option : about_.options) {
      const std::vector<OptionValue> values = ValuesOf(option, crossing);
      if (values.empty()) continue;
      cases =
          Cross(cases, values, [&](const OptionValue& value, Config& config) {
            config.options[option.name] = value;
            return fmt::format("{}={}", option.name, OptionText(value));
          });
    }
    for (VerifyCase& one : cases) {
      one.name += " scores=";
      one.name += one.scores;
      cases_.push_back(std::move(one));
    }
  }

  // The values that all cases of a crossing are crossed with; none: the default
  // alone.
  std::vector<OptionValue> ValuesOf(const OptionSpec& option,
                                    const Crossing& crossing) const {
    // No training is the expectation of decoding by a policy.
    if (option.name == kPolicyOption) return {};
    const auto found = options_.find(option.name);
    if (found != options_.end()) return {found->second};
    if (!option.verified.empty() || !crossing.options) return option.verified;
    return {option.allowed.begin(), option.allowed.end()};
  }

  const Description& about_;
  const Config base_;
  const std::map<std::string, OptionValue> options_;
  Cases cases_;
};

void AddRandom(bool takes_p, bool quick, Grid& grid) {
  Sizes small = {{1, 1}, {1, 4}, {4, 1}, {2, 3}, {4, 4}};
  if (!quick) {
    small.clear();
    for (Index T = 1; T <= 4; ++T) {
      for (Index U = 1; U <= 4; ++U) small.emplace_back(T, U);
    }
  }
  Names families = kFamilies;
  families.emplace_back("binary");
  if (takes_p) {
    grid.Add({.method = VerifyMethod::kEnumeration,
              .sizes = small,
              .scores = families});
    grid.Add({.method = VerifyMethod::kSampling,
              .sizes = {{8, 6}},
              .scores = kFamilies});
    grid.Add({.method = VerifyMethod::kSampling,
              .sizes = {{20, 12}},
              .scores = families,
              .widths = !quick});
    if (!quick) {
      grid.Add({.method = VerifyMethod::kSampling,
                .sizes = {{3, 40}, {64, 24}},
                .scores = families,
                .widths = false});
    }
  }
  grid.Add({.method = VerifyMethod::kSampling,
            .sizes = {{12, 8}},
            .scores = {"uniform", "planted", "diagonal", "bias:-4"},
            .widths = false,
            .from_states = true});
  grid.Add({.method = VerifyMethod::kSampling,
            .sizes = {{8, 5}},
            .scores = {"uniform"},
            .widths = false,
            .from_states = true,
            .energies = true});
}

void AddDeterministic(bool has_scores, bool quick, Grid& grid) {
  Sizes sizes = {{1, 1}, {1, 3}, {7, 5}, {20, 12}};
  if (!quick) sizes.insert(sizes.end(), {{5, 1}, {3, 30}, {64, 24}});
  if (has_scores) {
    grid.Add(
        {.method = VerifyMethod::kExact, .sizes = sizes, .scores = kFamilies});
    grid.Add({.method = VerifyMethod::kExact,
              .sizes = {{6, 4}},
              .scores = {"uniform", "adversarial"},
              .options = true});
  }
  grid.Add({.method = VerifyMethod::kExact,
            .sizes = {{1, 2}, {7, 5}},
            .scores = {"uniform"},
            .from_states = true,
            .energies = true,
            .options = true});
}

// ---- numbers ----------------------------------------------------------------

// A stream of numbers for one array.
class Draws {
 public:
  Draws(std::uint64_t key, const std::string& array) : key_(key) {
    Fnv1a hash;
    hash.Add(array);
    stream_ = static_cast<std::uint32_t>(hash.hash());
  }
  double Uniform() {
    const auto words = Next();
    return Uniform53(words[0], words[1]);
  }
  double Normal() { return StandardNormal(Next()); }

 private:
  std::array<std::uint32_t, 4> Next() {
    return Philox(key_, kVerifyPurpose, stream_, index_++);
  }
  std::uint64_t key_;
  std::uint32_t stream_;
  std::uint64_t index_ = 0;
};

double AdversarialProbability(Index i, Index j, Draws& draws) {
  constexpr double kHard[] = {0, 1, 0, 1e-300, 1 - 0x1p-53, 1e-9, 0.5, 0};
  const double u = draws.Uniform();
  if (i % 2 == 1) return j % 2 == 0 ? 0 : u;
  const auto kind = static_cast<std::size_t>(16 * u);
  return kind < std::size(kHard) ? kHard[kind] : draws.Uniform();
}

double Probability(const std::string& family, Index i, Index j, Draws& draws) {
  if (family == "adversarial") return AdversarialProbability(i, j, draws);
  const double u = draws.Uniform();
  return family == "binary" ? (u < 0.3 ? 1 : 0) : u;
}

double Score(const std::string& family, Index i, Index j, Draws& draws) {
  const double normal = draws.Normal();
  if (family == "saturated") return 8 * normal;
  if (family == "recommended") return normal - 4;
  if (family != "adversarial") return normal;
  const auto position = static_cast<double>(j);
  switch (i % 4) {
    case 0:
      return position;
    case 1:
      return -position;
    case 2:
      return normal < 0 ? -1e4 : 1e4;
    default:
      return normal;
  }
}

// Picks p, unless the family is one of energies.
const InputSpec& PickScores(const std::vector<InputSpec>& alternatives,
                            const std::string& family) {
  const bool of_energies = family == "saturated" || family == "recommended";
  const Domain wanted = of_energies ? Domain::kFinite : Domain::kProbability;
  const auto found =
      std::ranges::find(alternatives, wanted, &InputSpec::domain);
  return found != alternatives.end() ? *found : alternatives.front();
}

Table<double> Copied(const MatrixView<const double>& from) {
  Table<double> to(from.rows, from.cols);
  for (Index r = 0; r < from.rows; ++r) {
    std::ranges::copy(from.Row(r), to.view().Row(r).begin());
  }
  return to;
}

// Copies drawn parameters into the arrays of a case, where they can be changed.
class ChangeableParameters final : public ParameterSource<double> {
 public:
  ChangeableParameters(const ParameterSource<double>& drawn,
                       std::map<std::string, Table<double>>& arrays)
      : drawn_(drawn), arrays_(arrays) {}

  MatrixView<const double> Matrix(std::string_view name, Index rows,
                                  Index cols) const override {
    const std::string key = kParameterKey + std::string(name);
    auto found = arrays_.find(key);
    if (found == arrays_.end()) {
      found =
          arrays_.emplace(key, Copied(drawn_.Matrix(name, rows, cols))).first;
    }
    ATTN_CHECK_EQ(found->second.rows, rows);
    ATTN_CHECK_EQ(found->second.cols, cols);
    return std::as_const(found->second).view();
  }

 private:
  const ParameterSource<double>& drawn_;
  std::map<std::string, Table<double>>& arrays_;
};

Table<double> Scalar(double value) {
  Table<double> array(1, 1);
  array.values[0] = value;
  return array;
}

std::uint64_t KeyOf(const VerifyCase& one, std::uint64_t seed) {
  Fnv1a hash;
  hash.Add(fmt::format("{} {} {} {} {}", seed, one.mechanism,
                       MethodName(one.method), one.from_states, one.name));
  return hash.hash();
}

}  // namespace

std::string MethodName(VerifyMethod method) {
  switch (method) {
    case VerifyMethod::kExact:
      return "exact";
    case VerifyMethod::kEnumeration:
      return "enumeration";
    case VerifyMethod::kSampling:
      break;
  }
  return "sampling";
}

std::vector<VerifyCase> MakeVerifyCases(
    const Description& description, bool quick,
    const std::map<std::string, OptionValue>& options) {
  Config config = DefaultConfig(description);
  for (const auto& [name, value] : options) config.options[name] = value;
  for (const auto& [name, value] :
       SamplingConfig(description, config).options) {
    const auto found = options.find(name);
    if (found == options.end() || found->second == value) continue;
    throw UserError("option " + name,
                    fmt::format("is {}, and trials need {}",
                                OptionText(found->second), OptionText(value)));
  }
  if (HasPolicy(description, config)) {
    throw UserError("option " + std::string(kPolicyOption),
                    fmt::format("{}: no training is the expectation of a "
                                "policy; run-sweep holds it to the reference",
                                config.Option<std::string>(kPolicyOption)));
  }
  if (!HasMode(description, Mode::kExpect)) return {};
  Grid grid(description, options);
  if (ChoosesAtRandom(description)) {
    AddRandom(FindScore(description, "p_choose") != nullptr, quick, grid);
  } else {
    AddDeterministic(!description.scores.empty(), quick, grid);
  }
  return grid.Take();
}

VerifyInputs::VerifyInputs(const VerifyCase& verify_case,
                           const Description& description, std::uint64_t seed)
    : key_(KeyOf(verify_case, seed)), given_(!verify_case.from_states) {
  if (given_) {
    DrawScores(verify_case, description);
  } else {
    DrawStates(verify_case, description);
  }
  const Index T = verify_case.memory_length;
  const Index U = verify_case.output_length;
  const Index d = verify_case.config.dim;
  d_attention_ = Table<double>(U, T);
  d_contexts_ = Table<double>(U, d);
  Draws draws(key_, "cotangent");
  for (double& value : d_attention_.values) value = 2 * draws.Uniform() - 1;
  for (double& value : d_contexts_.values) value = 2 * draws.Uniform() - 1;
}

void VerifyInputs::DrawScores(const VerifyCase& verify_case,
                              const Description& description) {
  const Index T = verify_case.memory_length;
  const Index U = verify_case.output_length;
  const std::string& family = verify_case.scores;
  const auto length = [&](char letter) {
    return letter == 'T'   ? T
           : letter == 'U' ? U
           : letter == 'K' ? verify_case.config.Option<Index>("num_contexts")
                           : verify_case.config.dim;
  };
  for (const std::vector<InputSpec>& alternatives : description.scores) {
    const InputSpec& score = PickScores(alternatives, family);
    Table<double> array(length(score.shape[0]), length(score.shape[1]));
    Draws draws(key_, score.name);
    for (Index i = 0; i < array.rows; ++i) {
      for (Index j = 0; j < array.cols; ++j) {
        array.view()(i, j) = score.domain == Domain::kProbability
                                 ? Probability(family, i, j, draws)
                                 : Score(family, i, j, draws);
      }
    }
    arrays_[score.name] = std::move(array);
  }
  Table<double> memory(T, verify_case.config.dim);
  Draws draws(key_, "memory");
  for (double& value : memory.values) value = 2 * draws.Uniform() - 1;
  arrays_["memory"] = std::move(memory);
}

void VerifyInputs::DrawStates(const VerifyCase& verify_case,
                              const Description& description) {
  workload_ = MakeWorkload<double>({.workload = verify_case.scores,
                                    .memory_length = verify_case.memory_length,
                                    .output_length = verify_case.output_length,
                                    .dim = verify_case.config.dim,
                                    .seed = key_});
  const Sequence<double> drawn =
      workload_->DrawFor(description, 0, verify_case.config.energy)[0];
  parameters_ =
      std::make_unique<ChangeableParameters>(*drawn.inputs.parameters, arrays_);
  arrays_["energy_bias"] = Scalar(drawn.inputs.energy_bias);
  arrays_["energy_scale"] = Scalar(kEnergyScale);
  arrays_["memory"] = Copied(drawn.memory);
  arrays_["states"] = Copied(drawn.states);
  for (const auto& [name, view] : drawn.inputs.further) {
    arrays_[name] = Copied(view);
  }
}

const Table<double>* VerifyInputs::Find(const std::string& name) const {
  const auto found = arrays_.find(name);
  return found == arrays_.end() ? nullptr : &found->second;
}

const Table<double>& VerifyInputs::At(const std::string& name) const {
  return arrays_.at(name);
}

Sequence<double> VerifyInputs::MakeSequence(Table<double>& contexts) const {
  const auto view = [&](const std::string& name) {
    const Table<double>* array = Find(name);
    return array == nullptr ? MatrixView<const double>() : array->view();
  };
  Sequence<double> sequence;
  for (const InputSpec& input : AllScores()) {
    sequence.inputs.scores.Set(input.name, view(input.name));
  }
  if (!given_) {
    sequence.inputs.parameters = parameters_.get();
    sequence.inputs.energy_bias = At("energy_bias").values[0];
    sequence.inputs.energy_scale = At("energy_scale").values[0];
  }
  sequence.inputs.seed = key_;
  sequence.inputs.expected_length = At("memory").rows;
  for (const InputSpec& input : AllFurtherInputs()) {
    sequence.inputs.further.Set(input.name, view(input.name));
  }
  sequence.memory = view("memory");
  sequence.states = view("states");
  sequence.contexts = contexts.view();
  return sequence;
}

}  // namespace attnbench
