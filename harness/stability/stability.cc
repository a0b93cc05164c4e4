#include "harness/stability/stability.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "harness/stability/errors.h"
#include "harness/stability/evaluate.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

template <class Real>
StabilityLabels Labels(const StabilityPoint& point,
                       const StabilitySubject& subject) {
  StabilityLabels labels = {.mechanism = point.mechanism,
                            .variant = subject.variant,
                            .precision = kPrecisionOf<Real>,
                            .family = point.family,
                            .memory_length = point.memory_length,
                            .output_length = point.output_length};
  if (!subject.preset.empty()) labels.preset = subject.preset;
  if (point.chunk_energy_scale > 0) {
    labels.chunk_energy_scale = point.chunk_energy_scale;
  }
  return labels;
}

Description About(const StabilityPoint& point) {
  return FindMechanism<double>(point.mechanism)->Describe();
}

// The scores of a point and the exact value, with which its subjects are
// compared.
struct Draw {
  StabilityScores scores;
  Expected<double> exact;
};

Draw MakeDraw(const StabilityPoint& point, const Config& exact,
              std::uint64_t seed, int draw) {
  ATTN_CHECK_EQ(exact.variant, "exact");
  const StabilityScores scores = DrawStabilityScores(
      point, About(point), seed, static_cast<std::uint32_t>(draw));
  return {scores, Evaluate<double>(point.mechanism, exact, scores)};
}

template <class Real>
StabilityRow MeasureRow(const StabilityPoint& point,
                        const StabilitySubject& subject,
                        const std::vector<Draw>& draws) {
  Errors attention, selection;
  bool selects = false;
  for (const Draw& draw : draws) {
    const auto found =
        Evaluate<Real>(point.mechanism, subject.config, draw.scores);
    attention.Add(draw.exact.attention, found.attention);
    selection.Add(draw.exact.selection, found.selection);
    selects = found.selection.rows > 0;
  }
  return {Labels<Real>(point, subject), attention.OfAttention(),
          std::ssize(draws),
          selects ? selection.Shown(selection.error) : std::nullopt,
          attention.not_finite + selection.not_finite};
}

template <class Real>
StabilityGradient MeasureGradient(const StabilityPoint& point,
                                  const StabilitySubject& subject,
                                  const Draw& draw) {
  const auto found =
      Evaluate<Real>(point.mechanism, subject.config, draw.scores);
  Errors all;
  for (const auto& [name, exact] : draw.exact.gradients) {
    all.Add(exact, found.gradients.at(name));
  }
  const Figure error = all.Shown(all.error);
  return {Labels<Real>(point, subject),
          error,
          error && all.largest_exact > 0
              ? StabilityNumber(*error / all.largest_exact)
              : std::nullopt,
          all.Shown(all.largest),
          StabilityNumber(all.largest_exact).value(),
          all.not_finite};
}

// Rounds a mass to twelve places: enough for adding up the ledger, and short.
double Places12(double mass) {
  return std::round(mass * 1e12) / 1e12 + 0.0;  // not -0
}

double Sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// The mass that arrives at the end of the memory without a choice: sum over k
// of start(k) prod over n >= k of (1 - p(n)).
double StructuralLoss(std::span<const double> start,
                      std::span<const double> p) {
  double q = 0;
  for (std::size_t j = 0; j < p.size(); ++j) {
    q += start[j];
    q *= 1 - p[j];
  }
  return q;
}

// Follows the mass by the variant's own alpha: each output selects the mass
// that the one before left it, passes it on to the end of the memory, or loses
// it. Null if that alpha is not finite.
template <class Real>
StabilityLedger MeasureLedger(const StabilityPoint& point,
                              const StabilitySubject& subject,
                              const Draw& draw) {
  const auto found =
      Evaluate<Real>(point.mechanism, subject.config, draw.scores);
  const StabilityInputs<double> inputs(draw.scores);
  const MatrixView<const double> p = inputs.View("p_choose");
  StabilityLedger row = {Labels<Real>(point, subject)};
  std::vector<double> start(Size(p.cols), 0);
  start[0] = 1;
  for (Index i = 0; i < point.output_length; ++i) {
    const double before = Sum(start);
    const double structural = StructuralLoss(start, p.Row(i));
    std::ranges::copy(found.selection.view().Row(i), start.begin());
    const double selected = Sum(start);
    row.not_finite += std::isfinite(selected) ? 0 : 1;
    row.mass_before.emplace_back(Places12(before));
    row.selected.emplace_back(Places12(selected));
    row.structural_loss.emplace_back(Places12(structural));
    row.numerical_loss.emplace_back(Places12(before - selected - structural));
  }
  return row;
}

const std::vector<Index>& LossLengths() {
  static const std::vector<Index> lengths = {256, 512, 1024, 2048};
  return lengths;
}

// The number of entries over which a row loses more than a hundredth of the
// mass of an output, or is not finite; `otherwise` if it never does.
template <class Real>
Index FirstLoss(std::span<const double> exact, std::span<const Real> found,
                Index otherwise) {
  constexpr double kNoticeable = 0.01;
  double missing = 0;
  for (std::size_t j = 0; j < exact.size(); ++j) {
    missing += exact[j] - static_cast<double>(found[j]);
    if (!(missing <= kNoticeable)) return static_cast<Index>(j) + 1;
  }
  return otherwise;
}

// The losses of a subject over each of LossLengths().
template <class Real>
std::vector<StabilityLoss> MeasureLosses(const StabilityPoint& point,
                                         const StabilitySubject& subject,
                                         const std::vector<Draw>& draws) {
  std::vector<Errors> of_length(LossLengths().size());
  Index first = point.memory_length + 1;
  for (const Draw& draw : draws) {
    const auto found =
        Evaluate<Real>(point.mechanism, subject.config, draw.scores);
    for (Index i = 0; i < point.output_length; ++i) {
      const std::span<const double> exact = draw.exact.selection.view().Row(i);
      const std::span<const Real> row = found.selection.view().Row(i);
      first = std::min(first, FirstLoss(exact, row, first));
      for (std::size_t n = 0; n < of_length.size(); ++n) {
        const std::size_t T = Size(LossLengths()[n]);
        of_length[n].Add(CompareRows<Real>(exact.first(T), row.first(T)));
      }
    }
  }
  std::vector<StabilityLoss> losses;
  for (std::size_t n = 0; n < of_length.size(); ++n) {
    const Errors& errors = of_length[n];
    StabilityLoss& loss = losses.emplace_back(
        StabilityLoss{Labels<Real>(point, subject), std::ssize(draws),
                      errors.Shown(errors.lost), errors.Shown(errors.error)});
    loss.memory_length = LossLengths()[n];
    if (first <= loss.memory_length) loss.first_length = first;
    loss.not_finite = errors.not_finite;
  }
  return losses;
}

// Measures every subject of this length, in both precisions.
template <class Measure>
auto ForEachSubject(const StabilityPoint& point,
                    const std::vector<StabilitySubject>& subjects,
                    const Measure& measure) {
  std::vector<decltype(measure(subjects[0], float{}))> rows;
  for (const StabilitySubject& subject : subjects) {
    if (!IsMeasured(point, subject)) continue;
    rows.push_back(measure(subject, float{}));
    rows.push_back(measure(subject, double{}));
  }
  return rows;
}

std::vector<Draw> MakeDraws(const StabilityPoint& point, const Config& exact,
                            std::uint64_t seed, int draws) {
  std::vector<Draw> made;
  for (int n = 0; n < draws; ++n) {
    made.push_back(MakeDraw(point, exact, seed, n));
  }
  return made;
}

// The rows of a measure that takes one draw.
template <class Measure>
auto RowsOfFirstDraw(const StabilityPoint& point, Mode mode, std::uint64_t seed,
                     const Measure& measure) {
  const auto subjects = StabilitySubjects(About(point), mode);
  const Draw draw = MakeDraw(point, subjects.at(0).config, seed, 0);
  return ForEachSubject(point, subjects, [&](const auto& subject, auto real) {
    return measure(subject, draw, real);
  });
}

}  // namespace

std::vector<StabilityRow> MeasureStabilityRows(const StabilityPoint& point,
                                               std::uint64_t seed, int draws) {
  const auto subjects = StabilitySubjects(About(point), Mode::kExpect);
  const auto made = MakeDraws(point, subjects.at(0).config, seed, draws);
  return ForEachSubject(point, subjects, [&](const auto& subject, auto real) {
    return MeasureRow<decltype(real)>(point, subject, made);
  });
}

std::vector<StabilityGradient> MeasureStabilityGradients(
    const StabilityPoint& point, std::uint64_t seed) {
  return RowsOfFirstDraw(point, Mode::kGradient, seed,
                         [&](const auto& subject, const Draw& draw, auto real) {
                           return MeasureGradient<decltype(real)>(
                               point, subject, draw);
                         });
}

std::vector<StabilityLedger> MeasureStabilityLedger(const StabilityPoint& point,
                                                    std::uint64_t seed) {
  return RowsOfFirstDraw(point, Mode::kExpect, seed,
                         [&](const auto& subject, const Draw& draw, auto real) {
                           return MeasureLedger<decltype(real)>(point, subject,
                                                                draw);
                         });
}

std::vector<StabilityLoss> MeasureStabilityLosses(const StabilityPoint& point,
                                                  std::uint64_t seed,
                                                  int draws) {
  ATTN_CHECK_EQ(point.memory_length, LossLengths().back());
  const auto subjects = StabilitySubjects(About(point), Mode::kExpect);
  const auto made = MakeDraws(point, subjects.at(0).config, seed, draws);
  std::vector<StabilityLoss> losses;
  for (const auto& of_subject :
       ForEachSubject(point, subjects, [&](const auto&subject, auto real) {
         return MeasureLosses<decltype(real)>(point, subject, made);
       })) {
    losses.insert(losses.end(), of_subject.begin(), of_subject.end());
  }
  return losses;
}

}  // namespace attnbench
