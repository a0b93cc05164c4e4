#include "harness/stability_inputs.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/default_config.h"
#include "harness/error.h"
#include "harness/purposes.h"
#include "harness/score_fields.h"
#include "mechanisms/common/philox.h"

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

// Tables that are drawn; the number tells their streams apart.
enum Drawn : std::uint32_t {
  kChoice,
  kChunkEnergies,
  kEncoderScores,
  kDecoderScores,
  kCotangent,
  kNumTables
};

// Numbers of one table of one draw.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint32_t draw, Drawn table)
      : seed_(seed), stream_(draw * kNumTables + table) {}

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
    if (variant != "parallel" || option.name != "preset") continue;
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
  return std::ranges::any_of(about.scores, [&](const auto& any_of) {
    return Contains(any_of, score);
  });
}

StabilityScores DrawStabilityScores(const StabilityPoint& point,
                                    const Description& about,
                                    std::uint64_t seed, std::uint32_t draw) {
  const Index T = point.memory_length;
  const Index U = point.output_length;
  const auto normals = [&](Drawn table, double scale) {
    return [draws = Draws(seed, draw, table), scale](Index i, Index j) {
      return scale * draws.Normal(i, j);
    };
  };
  StabilityScores scores;
  const bool probabilities = TakesScore(about, "p_choose");
  if (probabilities || TakesScore(about, "energies")) {
    const Draws draws(seed, draw, kChoice);
    const Family& family = FindFamily(point.family);
    scores[probabilities ? "p_choose" : "energies"] =
        Fill(U, T, [&](Index i, Index j) {
          return ChoiceNumber(family, draws, !probabilities, i, j);
        });
  }
  if (TakesScore(about, "chunk_energies")) {
    scores["chunk_energies"] =
        Fill(U, T, normals(kChunkEnergies, point.chunk_energy_scale));
  }
  const Index K = Config().num_contexts;
  if (TakesScore(about, "encoder_scores")) {
    scores["encoder_scores"] = Fill(T, K, normals(kEncoderScores, 1));
  }
  if (TakesScore(about, "decoder_scores")) {
    scores["decoder_scores"] = Fill(U, K, normals(kDecoderScores, 1));
  }
  const Draws draws(seed, draw, kCotangent);
  scores["cotangent"] =
      Fill(U, T, [&](Index i, Index j) { return 2 * draws.Uniform(i, j) - 1; });
  return scores;
}

template <class Real>
StabilityInputs<Real>::StabilityInputs(const StabilityScores& scores) {
  for (const auto& [name, table] : scores) {
    Table<Real>& mine = tables_[name];
    mine = Table<Real>(table.rows, table.cols);
    std::ranges::copy(table.values, mine.values.begin());
  }
  given_ = GivenScoresOf<Real>([this](const char* name) { return View(name); });
}

template <class Real>
Sequence<Real> StabilityInputs<Real>::sequence() const {
  Sequence<Real> sequence;
  sequence.inputs.given = &given_;
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
                                                const std::string& mode) {
  std::vector<StabilitySubject> subjects;
  if (about.scores.empty() || !Contains(about.modes, mode)) return subjects;
  const Config base = DefaultConfig(about, mode);
  for (const VariantSpec& variant : about.variants) {
    if (variant.name == "reference") continue;
    if (!variant.modes.empty() && !Contains(variant.modes, mode)) continue;
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

// nested is cubic in T for each output, partial_sums quadratic with a
// T x T array; a gradient takes as many passes as there are scores.
const std::vector<StabilityLimit>& StabilityLimits() {
  static const std::vector<StabilityLimit> limits = {
      {"matcha", "nested", 128, 16}, {"matcha", "partial_sums", 512, 16}};
  return limits;
}

bool IsMeasured(const StabilityPoint& point, const StabilitySubject& subject) {
  for (const StabilityLimit& limit : StabilityLimits()) {
    if (limit.mechanism != point.mechanism ||
        limit.variant != subject.variant) {
      continue;
    }
    return point.memory_length <=
           (subject.config.mode == "gradient" ? limit.gradient : limit.expect);
  }
  return true;
}

template class StabilityInputs<float>;
template class StabilityInputs<double>;

}  // namespace attnbench
