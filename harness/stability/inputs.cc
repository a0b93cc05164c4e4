#include "harness/stability/inputs.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/base/error.h"
#include "harness/base/hash.h"
#include "harness/base/purposes.h"
#include "mechanisms/common/philox.h"
#include "mechanisms/description.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

struct Family {
  std::string name;
  double mean = 0;    // of e
  double spread = 0;  // standard deviation of e; 0: p is uniform
};

const std::vector<Family>& Families() {
  static const std::vector<Family> families = {
      {"uniform", 0, 0},      {"recommended", -4, 1}, {"sharpness_8", 0, 8},
      {"sharpness_1", 0, 1},  {"sharpness_2", 0, 2},  {"sharpness_4", 0, 4},
      {"sharpness_16", 0, 16}};
  return families;
}

const Family& FindFamily(const std::string& name) {
  const auto found = std::ranges::find(Families(), name, &Family::name);
  ATTN_CHECK(found != Families().end());
  return *found;
}

// Numbers of one table of one draw.
class Draws {
 public:
  // The tables that committed results have are told apart by their number, all
  // others by a seed of their own.
  Draws(std::uint64_t seed, std::uint32_t draw, const std::string& table)
      : seed_(seed) {
    static const std::vector<std::string> numbered = {
        "choice", "chunk_energies", "encoder_scores", "decoder_scores",
        "cotangent"};
    const auto found = std::ranges::find(numbered, table);
    stream_ = draw * static_cast<std::uint32_t>(numbered.size());
    if (found != numbered.end()) {
      stream_ += static_cast<std::uint32_t>(found - numbered.begin());
    } else {
      Fnv1a hash;
      hash.Add(table);
      seed_ ^= hash.hash();
    }
  }

  double Normal(Index i, Index j) const { return StandardNormal(Words(i, j)); }
  double Uniform(Index i, Index j) const { return Uniform24(Words(i, j)[0]); }

 private:
  std::array<std::uint32_t, 4> Words(Index i, Index j) const {
    const auto index =
        (static_cast<std::uint64_t>(i) << 32) ^ static_cast<std::uint64_t>(j);
    return Philox(seed_, kStabilityPurpose, stream_, index);
  }

  std::uint64_t seed_;
  std::uint32_t stream_;
};

template <class Number>
Table<float> Fill(Index rows, Index cols, const Number& number) {
  Table<float> table(rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) {
      table.view()(i, j) = static_cast<float>(number(i, j));
    }
  }
  return table;
}

double ChoiceNumber(const Family& family, const Draws& draws, bool as_energy,
                    Index i, Index j) {
  if (family.spread == 0) {
    const double p = draws.Uniform(i, j);
    // The least that Uniform24 can give but 0, whose logit is infinite.
    return as_energy ? std::log(std::max(p, 0x1p-24) / (1 - p)) : p;
  }
  const double e = family.mean + family.spread * draws.Normal(i, j);
  return as_energy ? e : 1 / (1 + std::exp(-e));
}

// Presets by name. "none" stands for two numbers, whose defaults a preset has.
std::vector<std::string> PresetsOf(const Description& about,
                                   const std::string& variant) {
  std::vector<std::string> presets;
  for (const OptionSpec& option : about.options) {
    if (option.name != "preset" || option.variant != variant) continue;
    presets = option.allowed;
    std::erase(presets, "none");
  }
  return presets;
}

}  // namespace

const std::vector<std::string>& StabilityFamilies() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Family& family : Families()) all.push_back(family.name);
    return all;
  }();
  return names;
}

bool TakesScore(const Description& about, const std::string& score) {
  return FindScore(about, score) != nullptr;
}

StabilityScores DrawStabilityScores(const StabilityPoint& point,
                                    const Description& about,
                                    std::uint64_t seed, std::uint32_t draw) {
  const auto length = [&](char letter) {
    return letter == 'T'   ? point.memory_length
           : letter == 'U' ? point.output_length
                           : DefaultConfig(about).Option<Index>("num_contexts");
  };
  StabilityScores scores;
  for (const std::vector<InputSpec>& list : about.scores) {
    const InputSpec& score = list[0];
    const bool is_p = score.domain == Domain::kProbability;
    const bool is_choice = is_p || score.name == "energies";
    const double scale =
        score.name == "chunk_energies" ? point.chunk_energy_scale : 1;
    const Draws draws(seed, draw, is_choice ? "choice" : score.name);
    scores[score.name] = Fill(
        length(score.shape[0]), length(score.shape[1]), [&](Index i, Index j) {
          return is_choice ? ChoiceNumber(FindFamily(point.family), draws,
                                          !is_p, i, j)
                           : scale * draws.Normal(i, j);
        });
  }
  const Draws draws(seed, draw, "cotangent");
  scores["cotangent"] =
      Fill(point.output_length, point.memory_length,
           [&](Index i, Index j) { return 2 * draws.Uniform(i, j) - 1; });
  return scores;
}

template <class Real>
StabilityInputs<Real>::StabilityInputs(const StabilityScores& scores) {
  for (const auto& [name, table] : scores) {
    Table<Real>& mine = tables_[name];
    mine = Table<Real>(table.rows, table.cols);
    std::ranges::copy(table.values, mine.values.begin());
  }
}

template <class Real>
Sequence<Real> StabilityInputs<Real>::sequence() const {
  Sequence<Real> sequence;
  for (const std::string& name : names()) {
    sequence.inputs.scores.Set(name, View(name));
  }
  return sequence;
}

template <class Real>
std::vector<std::string> StabilityInputs<Real>::names() const {
  std::vector<std::string> names;
  for (const auto& [name, table] : tables_) {
    if (name != "cotangent") names.push_back(name);
  }
  return names;
}

template <class Real>
MatrixView<const Real> StabilityInputs<Real>::View(
    const std::string& name) const {
  const auto found = tables_.find(name);
  return found == tables_.end() ? MatrixView<const Real>()
                                : found->second.view();
}

std::vector<StabilitySubject> StabilitySubjects(const Description& about,
                                                Mode mode) {
  std::vector<StabilitySubject> subjects;
  if (about.scores.empty() || !HasMode(about, mode)) return subjects;
  const Config base = DefaultConfig(about, mode);
  for (const VariantSpec& variant : about.variants) {
    if (variant.is_reference || !HasMode(variant, mode)) continue;
    // A second exact algorithm is no question of stability, nor is one whose
    // error is asked for.
    if (variant.name != base.variant && !variant.approximates) continue;
    StabilitySubject subject{variant.name, "", base};
    subject.config.variant = variant.name;
    const std::vector<std::string> presets = PresetsOf(about, variant.name);
    if (presets.empty()) subjects.push_back(subject);
    for (const std::string& preset : presets) {
      subject.preset = preset;
      subject.config.options["preset"] = preset;
      subjects.push_back(subject);
    }
  }
  return subjects;
}

const PublishedForm* FindForm(const std::string& mechanism,
                              const std::string& name) {
  const auto* const known = FindMechanism<double>(mechanism);
  if (known == nullptr) return nullptr;
  const std::vector<PublishedForm>& forms = known->Describe().forms;
  const auto found = std::ranges::find(forms, name, &PublishedForm::name);
  return found == forms.end() ? nullptr : &*found;
}

std::string FormName(const std::string& mechanism, const std::string& variant,
                     const std::optional<std::string>& preset) {
  const PublishedForm* const form =
      FindForm(mechanism, preset.value_or(variant));
  return form ? form->toolkit : variant + (preset ? " " + *preset : "");
}

// nested is cubic in T for each output, partial_sums quadratic with a
// T x T array; a gradient takes as many passes as there are scores.
const std::vector<StabilityLimit>& StabilityLimits() {
  static const std::vector<StabilityLimit> limits = {
      {"matcha", "nested", 128, 16}, {"matcha", "partial_sums", 512, 16}};
  return limits;
}

bool IsMeasured(const StabilityPoint& point, const StabilitySubject& subject) {
  // A preset makes alpha; hard monotonic attention shows it without chunks.
  if (!subject.preset.empty() && point.chunk_energy_scale > 0) return false;
  for (const StabilityLimit& limit : StabilityLimits()) {
    if (limit.mechanism != point.mechanism ||
        limit.variant != subject.variant) {
      continue;
    }
    return point.memory_length <= (subject.config.mode == Mode::kGradient
                                       ? limit.gradient
                                       : limit.expect);
  }
  return true;
}

StabilityScores ScoresOf(const Description& about,
                         const StabilityScores& scores, Index outputs) {
  StabilityScores first;
  for (const auto& [name, table] : scores) {
    if (!TakesScore(about, name)) continue;
    Table<float>& part = first[name];
    part = Table<float>(std::min(outputs, table.rows), table.cols);
    std::copy_n(table.values.begin(), part.values.size(), part.values.begin());
  }
  return first;
}

template class StabilityInputs<float>;
template class StabilityInputs<double>;

}  // namespace attnbench
