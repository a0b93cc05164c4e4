#include "harness/stability/diagnosis.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "harness/base/purposes.h"
#include "harness/latency/expected_latency.h"
#include "harness/latency/sharpness.h"
#include "harness/stability/errors.h"
#include "harness/stability/evaluate.h"
#include "mechanisms/common/parallel.h"
#include "mechanisms/common/philox.h"
#include "mechanisms/decode.h"

namespace attnbench {
namespace {

// ---- how much is measured ---------------------------------------------------

// A variant that takes more steps than this for all sequences is measured on a
// sample.
constexpr double kMostSteps = 1e8;
constexpr double kMostGradientSteps = 2e7;
// Variants of few steps for each score are measured whole, whatever the arrays.
constexpr double kFewSteps = 64;
constexpr Index kGradientOutputs = 8;

// The first outputs of the first sequences.
struct Extent {
  Index sequences = 1, outputs = kAllOutputs;
};

// How much more than alpha's recurrence a variant takes for a score: 1, or what
// grows with T or w. MAtChA's exact beta takes O(T log T), unless u spans more
// than 40 (f64: 300). In results/matcha_algorithms.json it takes 21, 26 and 41
// times as long as alpha in results/monotonic_algorithms.json (both on an AMD
// EPYC), at T = 512, 1024 and 2048.
double StepsPerScore(const DiagnosisRequest& request,
                     const std::string& mechanism, const std::string& variant,
                     Index memory_length) {
  const auto T = static_cast<double>(memory_length);
  if (mechanism == "matcha" && variant == "exact") return 32;
  if (variant == "exact" || variant == "moving_sum") return 1;
  if (mechanism == "mocha") {
    return std::min(T, static_cast<double>(request.chunk_width));
  }
  if (variant == "nested") return T * T;
  if (variant == "partial_sums" || variant == "triangular") return T;
  return mechanism == "matcha" ? T : 1;
}

// The table that a sequence was given as.
const Table<float>& Source(const DiagnosisRequest& request, Index n) {
  return request.sequences[Size(n)].at(request.source);
}

// The steps that an output of the first sequence takes.
double StepsPerOutput(const DiagnosisRequest& request,
                      const std::string& mechanism,
                      const std::string& variant) {
  const Index T = Source(request, 0).cols;
  return static_cast<double>(T) * StepsPerScore(request, mechanism, variant, T);
}

// How many outputs of the first sequence are measured, or kAllOutputs: of all
// sequences of the extent.
Index SampledOutputs(const DiagnosisRequest& request, const Extent& extent,
                     const std::string& mechanism, const std::string& variant) {
  double total = 0;
  double most = 1;  // steps for a score
  for (Index n = 0; n < extent.sequences; ++n) {
    const Table<float>& table = Source(request, n);
    const double steps = StepsPerScore(request, mechanism, variant, table.cols);
    most = std::max(most, steps);
    total += steps * static_cast<double>(std::min(table.rows, extent.outputs) *
                                         table.cols);
  }
  if (most <= kFewSteps || total <= kMostSteps) return kAllOutputs;
  return std::min(
      {Source(request, 0).rows, extent.outputs,
       static_cast<Index>(kMostSteps /
                          StepsPerOutput(request, mechanism, variant))});
}

// Calls `measure` with a number of the precision that is measured.
auto InPrecision(const DiagnosisRequest& request, const auto& measure) {
  return request.in_f64 ? measure(double{}) : measure(float{});
}

// ---- alpha, which all mechanisms share --------------------------------------

// The largest bound on C(k), the product of 1 - p over the entries before k,
// below which no more than the tolerance of an output's mass starts. In natural
// logarithms; minus infinity after a p of 1.
double LogBoundOf(std::span<const double> start, std::span<const double> p,
                  double tolerance) {
  std::vector<double> log_product(p.size(), 0);
  for (std::size_t k = 1; k < p.size(); ++k) {
    log_product[k] = log_product[k - 1] + std::log1p(-p[k - 1]);
  }
  double mass = 0;
  for (std::size_t k = p.size(); k-- > 0;) {
    mass += start[k];
    if (mass > tolerance) return log_product[k];
  }
  return 0;
}

// A p below this, or above 1 less this, is near a decision.
constexpr double kNear = 0.01;

// What alpha of one sequence tells.
struct AlphaFindings {
  std::vector<double> masses;  // of each output
  Index num_near_zero = 0, num_near_one = 0, num_p = 0;
  double log_bound = 0;
  std::size_t bound_output = 0;
  std::optional<Latency> latency;
};

AlphaFindings FindInAlpha(const DiagnosisRequest& request, const Config& config,
                          const StabilityScores& scores) {
  const StabilityInputs<double> inputs(scores);
  const MatrixView<const double> choice = inputs.View(request.source);
  const Table<double> alpha = Evaluate<double>(kScan, config, scores).attention;
  AlphaFindings made;
  std::vector<double> start(Size(alpha.cols), 0), p = start;
  start[0] = 1;
  for (Index i = 0; i < alpha.rows; ++i) {
    std::ranges::transform(choice.Row(i), p.begin(), [&](double x) {
      // The variants that are measured form it so: in f32 it is 1 sooner.
      const double chosen =
          request.source == "p_choose" ? x : 1 / (1 + std::exp(-x));
      return InPrecision(request, [&](auto real) {
        return static_cast<double>(static_cast<decltype(real)>(chosen));
      });
    });
    for (const double chosen : p) {
      made.num_near_zero += chosen < kNear ? 1 : 0;
      made.num_near_one += chosen > 1 - kNear ? 1 : 0;
    }
    made.num_p += std::ssize(p);
    const double bound = LogBoundOf(start, p, request.tolerance);
    if (bound < made.log_bound) {
      made.log_bound = bound;
      made.bound_output = Size(i);
    }
    std::ranges::copy(alpha.view().Row(i), start.begin());
    made.masses.push_back(std::accumulate(start.begin(), start.end(), 0.0));
  }
  made.latency = ExpectLatency(config, inputs.sequence(), alpha.rows, {})
                     .of_expected_delays;
  return made;
}

void AddMassAndChoices(const DiagnosisRequest& request,
                       const std::vector<AlphaFindings>& findings,
                       Diagnosis& diagnosis) {
  DiagnosedMass& mass = diagnosis.mass;
  mass.least = std::numeric_limits<double>::infinity();
  double outputs = 0, near_zero = 0, near_one = 0, num_p = 0;
  for (std::size_t n = 0; n < findings.size(); ++n) {
    const std::vector<double>& masses = findings[n].masses;
    mass.outputs.resize(std::max(mass.outputs.size(), masses.size()),
                        std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < masses.size(); ++i) {
      mass.outputs[i] = std::min(mass.outputs[i], masses[i]);
      mass.greatest = std::max(mass.greatest, masses[i]);
      mass.mean += masses[i];
      if (masses[i] >= mass.least) continue;
      mass.least = masses[i];
      mass.at = PlaceOf(request, n, i);
    }
    outputs += static_cast<double>(masses.size());
    near_zero += static_cast<double>(findings[n].num_near_zero);
    near_one += static_cast<double>(findings[n].num_near_one);
    num_p += static_cast<double>(findings[n].num_p);
  }
  mass.mean /= outputs;
  diagnosis.choices = {near_zero / num_p, near_one / num_p};
}

void AddAlpha(const DiagnosisRequest& request, Diagnosis& diagnosis) {
  const Description& about = FindMechanism<double>(kScan)->Describe();
  const Config config = StabilitySubjects(about, Mode::kExpect).at(0).config;
  std::vector<AlphaFindings> findings(request.sequences.size());
  ParallelFor(std::ssize(findings), omp_get_max_threads(), [&](Index n) {
    findings[Size(n)] = FindInAlpha(
        request, config, ScoresOf(about, request.sequences[Size(n)]));
  });
  AddMassAndChoices(request, findings, diagnosis);
  LatencyMean latency;
  double log_bound = 0;
  for (std::size_t n = 0; n < findings.size(); ++n) {
    latency.Add(findings[n].latency);
    if (findings[n].log_bound >= log_bound) continue;
    log_bound = findings[n].log_bound;
    diagnosis.bound.at = PlaceOf(request, n, findings[n].bound_output);
  }
  diagnosis.bound.log10 = StabilityNumber(log_bound / std::log(10.0));
  diagnosis.expected_latency = latency.Mean().value();
}

// ---- one mechanism ----------------------------------------------------------

// What decoding one sequence tells.
struct DecodingFindings {
  DecodedSteps decoded;
  double hard_distance = 0;
};

DecodingFindings FindInDecoding(const DiagnosisRequest& request,
                                const std::string& mechanism, Config config,
                                const StabilityScores& scores) {
  const StabilityInputs<double> inputs(scores);
  const Index U = scores.at(request.source).rows;
  const Index T = scores.at(request.source).cols;
  DecodingFindings made{.decoded = {.memory_length = T}};
  Sequence<double> sequence = inputs.sequence();
  const Table<double> memory(T, 1);
  Table<double> contexts(U, 1);
  sequence.memory = memory.view();
  sequence.contexts = contexts.view();
  const Mechanism<double>& decoder = *FindMechanism<double>(mechanism);
  made.hard_distance =
      DistanceToHard(decoder, config, sequence, /*has_memory=*/false, 1)
          .attention;
  config.mode = Mode::kDecode;
  DecodeSequence(decoder, config, sequence,
                 [&](Index /*i*/, const StepResult<double>& step) {
                   AddTraces(step, made.decoded.steps);
                 });
  return made;
}

void AddDecoding(const std::vector<DecodingFindings>& findings,
                 DiagnosedMechanism& made) {
  std::vector<DecodedSteps> decoded;
  double outputs = 0;
  for (const auto& [one, hard_distance] : findings) {
    decoded.push_back(one);
    const auto count = static_cast<double>(one.steps.size());
    outputs += count;
    made.hard_distance += count * hard_distance;
    made.outputs = std::max<std::int64_t>(made.outputs, std::ssize(one.steps));
  }
  made.hard_distance = std::min(1.0, made.hard_distance / outputs);
  made.decoding = SummaryOf(decoded);
}

// Some gradients of the first outputs of the first sequence.
struct GradientSample {
  StabilityScores scores;  // with the cotangent
  std::vector<ScorePlace> places;
  Expected<double> exact;
};

// Takes the score of each output with the largest exact gradient, and one that
// is drawn.
GradientSample SampleGradients(const DiagnosisRequest& request,
                               const std::string& mechanism, Config exact,
                               Index outputs) {
  const Description& about = FindMechanism<double>(mechanism)->Describe();
  const Index T = Source(request, 0).cols;
  GradientSample sample;
  sample.scores = ScoresOf(about, request.sequences[0], outputs);
  sample.scores["cotangent"] = DrawStabilityScores({.mechanism = mechanism,
                                                    .family = "uniform",
                                                    .chunk_energy_scale = 1,
                                                    .memory_length = T,
                                                    .output_length = outputs},
                                                   about, request.seed, 0)
                                   .at("cotangent");
  exact.mode = Mode::kGradient;
  sample.exact = Evaluate<double>(mechanism, exact, sample.scores);
  const Table<double>& gradient = sample.exact.gradients.at(request.source);
  for (Index i = 0; i < outputs; ++i) {
    const std::span<const double> row = gradient.view().Row(i);
    const auto largest = std::ranges::max_element(
        row, {}, [](double value) { return std::abs(value); });
    sample.places.push_back({i, largest - row.begin()});
    const auto word = Philox(request.seed, kStabilityPurpose, 0,
                             static_cast<std::uint64_t>(i))[0];
    sample.places.push_back({i, static_cast<Index>(word) % T});
  }
  return sample;
}

template <class Real>
DiagnosedGradient CompareGradients(const std::string& mechanism,
                                   const Config& config,
                                   const GradientSample& sample) {
  const Expected<Real> made =
      Evaluate<Real>(mechanism, config, sample.scores, sample.places);
  std::vector<double> exact;
  std::vector<Real> found;
  for (const auto& [name, table] : made.gradients) {
    for (const auto& [i, j] : sample.places) {
      exact.push_back(sample.exact.gradients.at(name)(i, j));
      found.push_back(table(i, j));
    }
  }
  const RowDifference all = CompareRows<Real>(exact, found);
  DiagnosedGradient gradient{.outputs = made.attention.rows,
                             .scores = std::ssize(found),
                             .not_finite = all.not_finite};
  if (all.not_finite > 0) return gradient;
  gradient.error = StabilityNumber(all.error);
  if (all.largest_exact > 0) {
    gradient.relative_error = StabilityNumber(all.error / all.largest_exact);
  }
  return gradient;
}

void AddGradients(const DiagnosisRequest& request, const std::string& mechanism,
                  const std::vector<StabilitySubject>& subjects,
                  std::vector<DiagnosedVariant>& variants) {
  std::map<Index, GradientSample> samples;  // by the number of outputs
  std::vector<Index> outputs;
  for (const StabilitySubject& subject : subjects) {
    const double steps = StepsPerOutput(request, mechanism, subject.variant);
    outputs.push_back(std::min(
        {Source(request, 0).rows, kGradientOutputs,
         static_cast<Index>(std::sqrt(kMostGradientSteps / (2 * steps)))}));
    if (outputs.back() > 0 && !samples.contains(outputs.back())) {
      samples[outputs.back()] = SampleGradients(
          request, mechanism, subjects[0].config, outputs.back());
    }
  }
  ParallelFor(std::ssize(subjects), omp_get_max_threads(), [&](Index s) {
    if (outputs[Size(s)] == 0) return;
    Config config = subjects[Size(s)].config;
    config.mode = Mode::kGradient;
    variants[Size(s)].gradient = InPrecision(request, [&](auto real) {
      return CompareGradients<decltype(real)>(mechanism, config,
                                              samples.at(outputs[Size(s)]));
    });
  });
}

DiagnosedMechanism DiagnoseMechanism(const DiagnosisRequest& request,
                                     const std::string& mechanism) {
  const Description& about = FindMechanism<double>(mechanism)->Describe();
  std::vector<StabilitySubject> subjects =
      StabilitySubjects(about, Mode::kExpect);
  // If the yardstick takes long, it is made of a sample, and so is all else.
  Extent extent{.sequences = std::ssize(request.sequences)};
  const Index of_exact =
      SampledOutputs(request, extent, mechanism, subjects[0].variant);
  if (of_exact != kAllOutputs) extent = {1, std::max<Index>(of_exact, 1)};
  std::vector<Index> outputs;
  for (StabilitySubject& subject : subjects) {
    subject.config.options["chunk_width"] = request.chunk_width;
    outputs.push_back(
        of_exact != kAllOutputs && subject.variant == "exact"
            ? kAllOutputs
            : SampledOutputs(request, extent, mechanism, subject.variant));
  }
  const Index count = extent.sequences;
  std::vector<std::vector<SequenceErrors>> errors(
      Size(count), std::vector<SequenceErrors>(subjects.size()));
  std::vector<DecodingFindings> decoding(Size(count));
  ParallelFor(count, omp_get_max_threads(), [&](Index n) {
    const StabilityScores scores =
        ScoresOf(about, request.sequences[Size(n)], extent.outputs);
    const Table<double> exact =
        Evaluate<double>(mechanism, subjects[0].config, scores).attention;
    for (std::size_t s = 0; s < subjects.size(); ++s) {
      // A sample is of the first sequence.
      if (outputs[s] != kAllOutputs && (n > 0 || outputs[s] == 0)) continue;
      errors[Size(n)][s] = InPrecision(request, [&](auto real) {
        const auto made = Evaluate<decltype(real)>(
            mechanism, subjects[s].config, ScoresOf(about, scores, outputs[s]));
        return CompareSequence(exact, made.attention, request, Size(n));
      });
    }
    decoding[Size(n)] =
        FindInDecoding(request, mechanism, subjects[0].config, scores);
  });
  DiagnosedMechanism made{
      .mechanism = mechanism, .sequences = count, .outputs = 0};
  AddDecoding(decoding, made);
  for (std::size_t s = 0; s < subjects.size(); ++s) {
    DiagnosedVariant& variant = made.variants.emplace_back();
    variant.variant = subjects[s].variant;
    if (!subjects[s].preset.empty()) variant.preset = subjects[s].preset;
    variant.sequences =
        outputs[s] == kAllOutputs ? count : std::min<Index>(outputs[s], 1);
    SequenceErrors all;
    for (const auto& of_sequence : errors) all.AddSequence(of_sequence[s]);
    all.Write(variant);
  }
  AddGradients(request, mechanism, subjects, made.variants);
  return made;
}

}  // namespace

Diagnosis Diagnose(const DiagnosisRequest& request) {
  Diagnosis made;
  made.source = request.source;
  made.shape = request.shape;
  made.sequences = std::ssize(request.sequences);
  for (Index n = 0; n < made.sequences; ++n) {
    const Table<float>& table = Source(request, n);
    made.output_length = std::max(made.output_length, table.rows);
    made.memory_length = std::max(made.memory_length, table.cols);
  }
  made.precision = request.in_f64 ? Precision::kF64 : Precision::kF32;
  made.tolerance = request.tolerance;
  AddAlpha(request, made);
  if (!request.alpha.empty()) made.alpha = DiagnoseAlpha(request);
  for (const std::string& mechanism : request.mechanisms) {
    made.mechanisms.push_back(DiagnoseMechanism(request, mechanism));
    if (mechanism == "mocha") {
      made.chunk_width = request.chunk_width == kInfiniteWidth
                             ? "inf"
                             : std::to_string(request.chunk_width);
    }
  }
  return made;
}

}  // namespace attnbench
