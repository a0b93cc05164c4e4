#include "harness/stability/diagnosis.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "harness/base/purposes.h"
#include "harness/latency/expected_latency.h"
#include "harness/latency/sharpness.h"
#include "harness/stability/evaluate.h"
#include "harness/stability/given_alpha.h"
#include "harness/stability/sequence_errors.h"
#include "harness/stability/stability.h"
#include "mechanisms/common/parallel.h"
#include "mechanisms/common/philox.h"
#include "mechanisms/decode.h"

namespace attnbench {
namespace {

// Of a variant that takes more than this for a sequence, a sample is measured.
constexpr double kMostSteps = 1e8;
constexpr double kMostGradientSteps = 2e7;
// Variants of few steps for each score are measured whole, whatever the arrays.
constexpr double kFewSteps = 64;
constexpr Index kGradientOutputs = 8;

// How much more than alpha's recurrence a variant takes for a score: 1, or what
// grows with T or w. MAtChA's exact beta takes O(T log T), unless u spans more
// than 40 (f64: 300). In results/matcha_algorithms.json it takes 21, 26 and 41
// times as long as alpha in results/monotonic_algorithms.json (both on an AMD
// EPYC), at T = 512, 1024 and 2048.
double StepsPerScore(const std::string& mechanism, const std::string& variant,
                     Index memory_length, Index chunk_width) {
  const auto T = static_cast<double>(memory_length);
  if (mechanism == "matcha" && variant == "exact") return 32;
  if (variant == "exact" || variant == "moving_sum") return 1;
  if (mechanism == "mocha") {
    return std::min(T, static_cast<double>(chunk_width));
  }
  if (variant == "nested") return T * T;
  if (variant == "partial_sums" || variant == "triangular") return T;
  return mechanism == "matcha" ? T : 1;
}

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

// What alpha of one sequence tells, which all mechanisms share.
struct AlphaFindings {
  std::vector<double> masses;  // of each output
  Index num_near_zero = 0, num_near_one = 0, num_p = 0;
  double log_bound = 0;
  Index bound_output = 0;
  std::optional<Latency> latency;
};

// What decoding one sequence tells.
struct DecodingFindings {
  std::optional<Latency> latency;
  double hard_distance = 0, read = 0;
  Index zero_contexts = 0, outputs = 0;
};

class Diagnosing {
 public:
  explicit Diagnosing(const DiagnosisRequest& request) : request_(request) {}

  Diagnosis Run() const {
    Diagnosis made;
    made.source = request_.source;
    made.shape = request_.shape;
    made.sequences = std::ssize(request_.sequences);
    for (const StabilityScores& scores : request_.sequences) {
      made.output_length =
          std::max(made.output_length, RowsOf(scores, request_.source));
      made.memory_length =
          std::max(made.memory_length, ColsOf(scores, request_.source));
    }
    made.precision = request_.in_f64 ? Precision::kF64 : Precision::kF32;
    made.tolerance = request_.tolerance;
    AddBoundAndLatency(made);
    if (!request_.alpha.empty()) made.alpha = DiagnoseAlpha(request_);
    for (const std::string& mechanism : request_.mechanisms) {
      made.mechanisms.push_back(OfMechanism(mechanism));
      if (mechanism == "mocha") {
        made.chunk_width = request_.chunk_width == kInfiniteWidth
                               ? "inf"
                               : std::to_string(request_.chunk_width);
      }
    }
    return made;
  }

 private:
  void AddBoundAndLatency(Diagnosis& diagnosis) const {
    const Description& about = FindMechanism<double>(kScan)->Describe();
    const Config config = StabilitySubjects(about, Mode::kExpect).at(0).config;
    std::vector<AlphaFindings> findings(request_.sequences.size());
    ParallelFor(std::ssize(findings), omp_get_max_threads(), [&](Index n) {
      const StabilityScores& all = request_.sequences[Size(n)];
      const StabilityScores scores =
          FirstOutputs(all, about, RowsOf(all, request_.source));
      findings[Size(n)] = AlphaOf(config, scores);
    });
    AddMassAndChoices(findings, diagnosis);
    LatencyMean latency;
    double log_bound = 0;
    for (std::size_t n = 0; n < findings.size(); ++n) {
      latency.Add(findings[n].latency);
      if (findings[n].log_bound >= log_bound) continue;
      log_bound = findings[n].log_bound;
      diagnosis.bound.at = {.sequence = static_cast<std::int64_t>(n) + 1,
                            .output = findings[n].bound_output};
    }
    diagnosis.bound.log10 = StabilityNumber(log_bound / std::log(10.0));
    diagnosis.expected_latency = latency.Mean().value();
  }

  static void AddMassAndChoices(const std::vector<AlphaFindings>& findings,
                                Diagnosis& diagnosis) {
    DiagnosedMass& mass = diagnosis.mass;
    mass.least = std::numeric_limits<double>::infinity();
    Index outputs = 0, near_zero = 0, near_one = 0, num_p = 0;
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
        mass.at = {.sequence = static_cast<std::int64_t>(n) + 1,
                   .output = static_cast<std::int64_t>(i) + 1};
      }
      outputs += std::ssize(masses);
      near_zero += findings[n].num_near_zero;
      near_one += findings[n].num_near_one;
      num_p += findings[n].num_p;
    }
    mass.mean /= static_cast<double>(outputs);
    diagnosis.choices.near_zero =
        static_cast<double>(near_zero) / static_cast<double>(num_p);
    diagnosis.choices.near_one =
        static_cast<double>(near_one) / static_cast<double>(num_p);
  }

  AlphaFindings AlphaOf(const Config& config,
                        const StabilityScores& scores) const {
    const StabilityInputs<double> inputs(scores);
    const StabilityPoint point = PointOf(kScan, scores, request_.source);
    AlphaFindings made;
    FindChoices(inputs.View(request_.source),
                Evaluate<double>(point, config, scores).attention, made);
    made.latency =
        ExpectLatency(config, inputs.sequence(), point.output_length, {})
            .of_expected_delays;
    return made;
  }

  DiagnosedMechanism OfMechanism(const std::string& mechanism) const {
    const Description& about = FindMechanism<double>(mechanism)->Describe();
    std::vector<StabilitySubject> subjects =
        StabilitySubjects(about, Mode::kExpect);
    // Where the yardstick takes long, it is of a sample, and so is all else.
    std::vector<StabilityScores> sample;
    const Index most =
        SampledOutputs(request_.sequences, mechanism, subjects[0]);
    if (most != kWhole) {
      sample.push_back(
          FirstOutputs(request_.sequences[0], about, std::max<Index>(most, 1)));
    }
    const std::vector<StabilityScores>& sequences =
        most == kWhole ? request_.sequences : sample;
    std::vector<Index> outputs;  // of the first sequence, or kWhole
    for (StabilitySubject& subject : subjects) {
      subject.config.options["chunk_width"] = request_.chunk_width;
      outputs.push_back(most != kWhole && subject.variant == "exact"
                            ? kWhole
                            : SampledOutputs(sequences, mechanism, subject));
    }
    const Index count = std::ssize(sequences);
    std::vector<std::vector<Found>> found(Size(count),
                                          std::vector<Found>(subjects.size()));
    std::vector<DecodingFindings> findings(Size(count));
    ParallelFor(count, omp_get_max_threads(), [&](Index n) {
      const StabilityScores scores =
          FirstOutputs(sequences[Size(n)], about,
                       RowsOf(sequences[Size(n)], request_.source));
      const StabilityPoint point = PointOf(mechanism, scores, request_.source);
      const Expected<double> exact =
          Evaluate<double>(point, subjects[0].config, scores);
      for (std::size_t s = 0; s < subjects.size(); ++s) {
        if (outputs[s] == kWhole) {
          found[Size(n)][s] =
              Measure(mechanism, subjects[s], scores, exact.attention, n);
        } else if (n == 0 && outputs[s] > 0) {
          found[0][s] = Measure(mechanism, subjects[s],
                                FirstOutputs(scores, about, outputs[s]),
                                exact.attention, n);
        }
      }
      findings[Size(n)] = DecodingOf(mechanism, subjects[0].config, scores);
    });
    DiagnosedMechanism made = Summed(mechanism, findings);
    made.sequences = count;
    made.outputs = 0;
    for (const StabilityScores& scores : sequences) {
      made.outputs = std::max(made.outputs, RowsOf(scores, request_.source));
    }
    for (std::size_t s = 0; s < subjects.size(); ++s) {
      Found all;
      for (const auto& of_sequence : found) all.Add(of_sequence[s]);
      made.variants.push_back({.variant = subjects[s].variant});
      if (!subjects[s].preset.empty()) {
        made.variants.back().preset = subjects[s].preset;
      }
      WriteErrors(all, made.variants.back());
      made.variants.back().sequences =
          outputs[s] == kWhole ? count : std::min<Index>(outputs[s], 1);
    }
    AddGradients(mechanism, about, subjects, made.variants);
    return made;
  }

  static constexpr Index kWhole = -1;

  // How many outputs of the first sequence are measured, or kWhole.
  Index SampledOutputs(const std::vector<StabilityScores>& sequences,
                       const std::string& mechanism,
                       const StabilitySubject& subject) const {
    double total = 0;
    double most = 1;  // steps for a score
    for (const StabilityScores& scores : sequences) {
      const double steps =
          StepsPerScore(mechanism, subject.variant,
                        ColsOf(scores, request_.source), request_.chunk_width);
      most = std::max(most, steps);
      total +=
          steps * static_cast<double>(scores.at(request_.source).values.size());
    }
    if (most <= kFewSteps || total <= kMostSteps) return kWhole;
    const StabilityScores& first = sequences[0];
    const auto T = static_cast<double>(ColsOf(first, request_.source));
    const double steps =
        T * StepsPerScore(mechanism, subject.variant,
                          ColsOf(first, request_.source), request_.chunk_width);
    return std::min(RowsOf(first, request_.source),
                    static_cast<Index>(kMostSteps / steps));
  }

  Found Measure(const std::string& mechanism, const StabilitySubject& subject,
                const StabilityScores& scores, const Table<double>& exact,
                Index n) const {
    const StabilityPoint point = PointOf(mechanism, scores, request_.source);
    if (request_.in_f64) {
      return CompareSequence(
          exact, Evaluate<double>(point, subject.config, scores).attention,
          request_.tolerance, n);
    }
    return CompareSequence(
        exact, Evaluate<float>(point, subject.config, scores).attention,
        request_.tolerance, n);
  }

  DecodingFindings DecodingOf(const std::string& mechanism, Config config,
                              const StabilityScores& scores) const {
    const StabilityInputs<double> inputs(scores);
    const Index U = RowsOf(scores, request_.source);
    const Index T = ColsOf(scores, request_.source);
    DecodingFindings made;
    made.outputs = U;
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
    std::vector<StepTrace> traces;
    DecodeSequence(decoder, config, sequence,
                   [&](Index /*i*/, const StepResult<double>& step) {
                     AddTraces(step, traces);
                   });
    for (const StepTrace& trace : traces) {
      made.zero_contexts += trace.position < 0 ? 1 : 0;
    }
    const std::vector<double> delays = DelaysOf(traces, T);
    made.read = delays.back() / static_cast<double>(T);
    made.latency = LatencyOf(delays, T, U);
    return made;
  }

  void FindChoices(const MatrixView<const double>& choice,
                   const Table<double>& alpha, AlphaFindings& made) const {
    std::vector<double> start(Size(alpha.cols), 0);
    start[0] = 1;
    std::vector<double> p(start.size());
    for (Index i = 0; i < alpha.rows; ++i) {
      std::ranges::transform(choice.Row(i), p.begin(), [&](double x) {
        // As what is measured forms it: in f32 it is 1 sooner.
        const double chosen =
            request_.source == "p_choose" ? x : 1 / (1 + std::exp(-x));
        return request_.in_f64
                   ? chosen
                   : static_cast<double>(static_cast<float>(chosen));
      });
      made.num_near_zero += std::ranges::count_if(
          p, [](double chosen) { return chosen < kNear; });
      made.num_near_one += std::ranges::count_if(
          p, [](double chosen) { return chosen > 1 - kNear; });
      made.num_p += std::ssize(p);
      const double bound = LogBoundOf(start, p, request_.tolerance);
      if (bound < made.log_bound) {
        made.log_bound = bound;
        made.bound_output = i + 1;
      }
      std::ranges::copy(alpha.view().Row(i), start.begin());
      made.masses.push_back(std::accumulate(start.begin(), start.end(), 0.0));
    }
  }

  static DiagnosedMechanism Summed(
      const std::string& mechanism,
      const std::vector<DecodingFindings>& findings) {
    DiagnosedMechanism made{.mechanism = mechanism};
    LatencyMean latency;
    double outputs = 0, zero_contexts = 0;
    for (const DecodingFindings& one : findings) {
      latency.Add(one.latency);
      const auto count = static_cast<double>(one.outputs);
      outputs += count;
      zero_contexts += static_cast<double>(one.zero_contexts);
      made.hard_distance += count * one.hard_distance;
      made.decoding.memory_read += one.read;
    }
    made.hard_distance = std::min(1.0, made.hard_distance / outputs);
    made.decoding.memory_read /= static_cast<double>(findings.size());
    made.decoding.zero_contexts = zero_contexts / outputs;
    made.decoding.latency = latency.Mean();
    return made;
  }

  // The gradient of the first outputs of the first sequence: of each output the
  // score with the largest exact gradient, and one that is drawn.
  void AddGradients(const std::string& mechanism, const Description& about,
                    const std::vector<StabilitySubject>& subjects,
                    std::vector<DiagnosedVariant>& variants) const {
    std::map<Index, GradientSample> samples;  // by the number of outputs
    std::vector<Index> outputs;
    const StabilityScores& first = request_.sequences[0];
    for (const StabilitySubject& subject : subjects) {
      const Index T = ColsOf(first, request_.source);
      const double steps =
          static_cast<double>(T) *
          StepsPerScore(mechanism, subject.variant, T, request_.chunk_width);
      outputs.push_back(std::min(
          {RowsOf(first, request_.source), kGradientOutputs,
           static_cast<Index>(std::sqrt(kMostGradientSteps / (2 * steps)))}));
      if (outputs.back() > 0 && !samples.contains(outputs.back())) {
        samples[outputs.back()] =
            SampleOf(mechanism, about, subjects[0].config, outputs.back());
      }
    }
    ParallelFor(std::ssize(subjects), omp_get_max_threads(), [&](Index s) {
      const Index count = outputs[Size(s)];
      if (count == 0) return;
      const GradientSample& sample = samples.at(count);
      Config config = subjects[Size(s)].config;
      config.mode = Mode::kGradient;
      variants[Size(s)].gradient =
          request_.in_f64 ? Compared<double>(mechanism, config, sample)
                          : Compared<float>(mechanism, config, sample);
    });
  }

  struct GradientSample {
    StabilityScores scores;  // with the cotangent
    std::vector<ScorePlace> places;
    Expected<double> exact;
  };

  GradientSample SampleOf(const std::string& mechanism,
                          const Description& about, Config exact,
                          Index outputs) const {
    GradientSample sample;
    sample.scores = FirstOutputs(request_.sequences[0], about, outputs);
    const StabilityPoint point =
        PointOf(mechanism, sample.scores, request_.source);
    StabilityPoint drawn = point;
    drawn.family = "uniform";
    drawn.chunk_energy_scale = 1;
    sample.scores["cotangent"] =
        DrawStabilityScores(drawn, about, request_.seed, 0).at("cotangent");
    exact.mode = Mode::kGradient;
    sample.exact = Evaluate<double>(point, exact, sample.scores);
    const Table<double>& gradient = sample.exact.gradients.at(request_.source);
    for (Index i = 0; i < outputs; ++i) {
      const std::span<const double> row = gradient.view().Row(i);
      const auto largest = std::ranges::max_element(
          row, {}, [](double value) { return std::abs(value); });
      sample.places.push_back({i, largest - row.begin()});
      const auto word = Philox(request_.seed, kStabilityPurpose, 0,
                               static_cast<std::uint64_t>(i))[0];
      sample.places.push_back(
          {i, static_cast<Index>(word) % point.memory_length});
    }
    return sample;
  }

  template <class Real>
  DiagnosedGradient Compared(const std::string& mechanism, const Config& config,
                             const GradientSample& sample) const {
    const StabilityPoint point =
        PointOf(mechanism, sample.scores, request_.source);
    const Expected<Real> made =
        Evaluate<Real>(point, config, sample.scores, sample.places);
    DiagnosedGradient gradient{
        .outputs = point.output_length,
        .scores = std::ssize(sample.places) * std::ssize(made.gradients)};
    double error = 0, largest = 0;
    for (const auto& [name, table] : made.gradients) {
      const Table<double>& exact = sample.exact.gradients.at(name);
      for (const auto& [i, j] : sample.places) {
        const auto value = static_cast<double>(table(i, j));
        largest = std::max(largest, std::abs(exact(i, j)));
        if (std::isfinite(value)) {
          error = std::max(error, std::abs(value - exact(i, j)));
        } else {
          ++gradient.not_finite;
        }
      }
    }
    if (gradient.not_finite > 0) return gradient;
    gradient.error = StabilityNumber(error);
    if (largest > 0) {
      gradient.relative_error = StabilityNumber(error / largest);
    }
    return gradient;
  }

  const DiagnosisRequest& request_;
};

}  // namespace

Diagnosis Diagnose(const DiagnosisRequest& request) {
  return Diagnosing(request).Run();
}

}  // namespace attnbench
