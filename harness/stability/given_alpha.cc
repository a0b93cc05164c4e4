#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "harness/latency/expected_latency.h"
#include "harness/stability/diagnosis.h"
#include "harness/stability/errors.h"
#include "harness/stability/evaluate.h"
#include "mechanisms/common/parallel.h"

namespace attnbench {
namespace {

constexpr double kNamedWithin = 1e-3;
constexpr double kNearer = 10;
// p was rounded to f32, whatever alpha was computed in.
constexpr double kRounding = 64 * std::numeric_limits<float>::epsilon();
// The rest of such an output has few digits in f32, or none.
constexpr double kLeastOff = 1e-30;

// The sum of |a - b|; infinite where one is not finite, as a given alpha is.
template <class Real>
double Away(std::span<const double> a, std::span<const Real> b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    sum += std::abs(a[j] - static_cast<double>(b[j]));
  }
  return std::isfinite(sum) ? sum : std::numeric_limits<double>::infinity();
}

// What one sequence, or several, tell.
struct Seen {
  SequenceErrors errors = {};
  double mass = 0, from_exact = 0;
  std::vector<double> from_forms = {};
  double off = 0, lost_mass = 0;
  DiagnosedPlace off_at = {};
  std::optional<DiagnosedPlace> first_wrong = {};

  void AddRow(std::span<const double> exact, std::span<const double> given,
              double tolerance, DiagnosedPlace place) {
    const double row_mass = std::accumulate(exact.begin(), exact.end(), 0.0);
    const double away = Away(given, exact);
    mass += row_mass;
    from_exact += away;
    if (away <= kLeastOff) return;
    const double left = std::accumulate(given.begin(), given.end(), 0.0);
    // An output without mass has no share to lose.
    const double unit = std::max(row_mass, kLeastOff);
    lost_mass = std::max(lost_mass, (row_mass - left) / unit);
    if (away / unit > off) {
      off = away / unit;
      off_at = place;
    }
    if (off > tolerance && !first_wrong) first_wrong = place;
  }

  void Add(const Seen& other) {
    errors.AddSequence(other.errors);
    mass += other.mass;
    from_exact += other.from_exact;
    from_forms.resize(other.from_forms.size());
    for (std::size_t f = 0; f < from_forms.size(); ++f) {
      from_forms[f] += other.from_forms[f];
    }
    lost_mass = std::max(lost_mass, other.lost_mass);
    if (other.off > off) {
      off = other.off;
      off_at = other.off_at;
    }
    KeepFirst(other.first_wrong, first_wrong);
  }
};

template <class Real>
double FromForm(const Config& config, const StabilityScores& scores,
                const Table<double>& given) {
  const Table<Real> made = Evaluate<Real>(kScan, config, scores).attention;
  double sum = 0;
  for (Index i = 0; i < made.rows; ++i) {
    sum += Away(given.view().Row(i), made.view().Row(i));
  }
  return sum;
}

}  // namespace

DiagnosedAlpha DiagnoseAlpha(const DiagnosisRequest& request) {
  const Description& about = FindMechanism<double>(kScan)->Describe();
  std::vector<StabilitySubject> forms = StabilitySubjects(about, Mode::kExpect);
  const Config exact_config = forms.at(0).config;
  // EMMA's estimator, the other variant, is exact.
  std::erase_if(forms, [](const StabilitySubject& subject) {
    return subject.preset.empty();
  });
  std::vector<Seen> seen(request.sequences.size());
  ParallelFor(std::ssize(seen), omp_get_max_threads(), [&](Index n) {
    const StabilityScores scores = ScoresOf(about, request.sequences[Size(n)]);
    const Table<double> exact =
        Evaluate<double>(kScan, exact_config, scores).attention;
    const Table<double>& given = request.alpha[Size(n)];
    Seen& one = seen[Size(n)];
    one.errors = CompareSequence(exact, given, request, Size(n));
    for (Index i = 0; i < given.rows; ++i) {
      one.AddRow(exact.view().Row(i), given.view().Row(i),
                 request.mass_tolerance, PlaceOf(request, Size(n), Size(i)));
    }
    for (const StabilitySubject& form : forms) {
      one.from_forms.push_back(
          request.in_f64 ? FromForm<double>(form.config, scores, given)
                         : FromForm<float>(form.config, scores, given));
    }
  });
  Seen all;
  all.off_at = PlaceOf(request, 0, 0);
  for (const Seen& one : seen) all.Add(one);
  const double mass = std::max(all.mass, kLeastOff);
  DiagnosedAlpha made{.file = request.alpha_file,
                      .tolerance = request.mass_tolerance,
                      .off = all.off,
                      .off_at = all.off_at,
                      .lost_mass = all.lost_mass,
                      .first_wrong = all.first_wrong,
                      .difference = all.from_exact / mass};
  made.errors.variant = "given";
  made.errors.sequences = std::ssize(seen);
  all.errors.Write(made.errors);
  made.is_exact = made.difference <= kRounding;
  if (made.is_exact) return made;
  const double nearest = *std::ranges::min_element(all.from_forms) / mass;
  if (nearest > std::min(made.difference / kNearer, kNamedWithin)) return made;
  for (std::size_t f = 0; f < forms.size(); ++f) {
    const double difference = all.from_forms[f] / mass;
    if (difference <= std::max(2 * nearest, kRounding)) {
      made.looks_like.push_back({forms[f].preset, difference});
    }
  }
  return made;
}

}  // namespace attnbench
