#include "harness/measure/trial.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/inputs/asked_parameters.h"
#include "harness/machine/clock.h"
#include "harness/measure/working_set.h"
#include "mechanisms/energy/energy.h"

namespace attnbench {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

void Add(const Operations& from, Operations& to) {
  to.energies += from.energies;
  to.chunk_energies += from.chunk_energies;
  to.memory_rows += from.memory_rows;
  to.flops += from.flops;
  to.bytes += from.bytes;
}

template <class Real>
bool IsFinite(const MatrixView<const Real>& array) {
  for (Index r = 0; r < array.rows; ++r) {
    for (const Real value : array.Row(r)) {
      if (!std::isfinite(value)) return false;
    }
  }
  return true;
}

// Adds the contexts of a sequence; context_l2 is the root of `square`.
template <class Real>
void CountContexts(const MatrixView<const Real>& contexts, Counts& counts,
                   double& square) {
  for (Index i = 0; i < contexts.rows; ++i) {
    for (const Real element : contexts.Row(i)) {
      const auto value = static_cast<double>(element);
      counts.context_sum += value;
      square += value * value;
    }
  }
}

// The bytes that run() held at its peak.
template <class Run>
Index PeakBytes(const Run& run) {
  MemoryUse& use = ThreadMemoryUse();
  const Index before = use.current_bytes;
  use.peak_bytes = before;
  run();
  return use.peak_bytes - before;
}

// The setting that is counted: a peer cannot be watched, so ours runs for it.
Config CountedConfig(Config config, bool of_peer) {
  if (of_peer) config.variant = "exact";
  return config;
}

template <class Real>
class DecodeTrial final : public Trial {
 public:
  using Batch = std::vector<Sequence<Real>>;

  DecodeTrial(const Mechanism<Real>& mechanism, const Config& config,
              int threads, std::vector<Batch> draws, PeerCell<Real>* peer)
      : mechanism_(mechanism),
        config_(config),
        threads_(threads),
        draws_(std::move(draws)),
        peer_(peer) {
    if (peer_ != nullptr) held_ = peer_->Hold(draws_);
  }

  int num_draws() const override { return static_cast<int>(draws_.size()); }

  void Run(int draw) override {
    DecodeBatch(mechanism_, config_, std::span(OfDraw(draw)), threads_);
  }

  Counts Count(int draw) override {
    Counts counts;
    double square = 0;
    const Config counted = CountedConfig(config_, peer_ != nullptr);
    for (const Sequence<Real>& sequence : OfDraw(draw)) {
      CountSteps(counted, sequence, counts);
      if (peer_ != nullptr) continue;
      CountContexts<Real>(sequence.contexts, counts, square);
    }
    if (peer_ != nullptr) CountOfPeer(draw, counts, square);
    counts.context_l2 = std::sqrt(square);
    counts.is_finite = std::isfinite(square);
    for (Sequence<Real> sequence : OfDraw(draw)) {
      counts.view_bytes += ViewBytes(config_, mechanism_.Describe(), sequence);
      const AskedParameters<Real> parameters(*sequence.inputs.parameters);
      sequence.inputs.parameters = &parameters;
      counts.peak_memory_bytes += PeakBytes([&] {
        DecodeSequence(mechanism_, counted, sequence,
                       [](Index, const StepResult<Real>&) {});
      });
      counts.parameter_bytes = parameters.bytes();
    }
    return counts;
  }

  // A sequence without outputs is only made, appended and closed.
  std::unique_ptr<Trial> Preparation() const override {
    std::vector<Batch> draws = draws_;
    for (Batch& batch : draws) {
      for (Sequence<Real>& sequence : batch) sequence.contexts.rows = 0;
    }
    return std::make_unique<DecodeTrial>(mechanism_, config_, threads_,
                                         std::move(draws), peer_);
  }

 private:
  const Batch& OfDraw(int draw) const { return draws_[Size(draw)]; }

  // Counts the contexts, which are all that a peer shows.
  void CountOfPeer(int draw, Counts& counts, double& square) const {
    counts.attention_mass = kNone;
    peer_->Decode(OfDraw(draw));
    for (const Sequence<Real>& sequence : OfDraw(draw)) {
      CountContexts<Real>(sequence.contexts, counts, square);
    }
  }

  // Decodes, and counts what the steps did; for a peer our own decoder runs.
  void CountSteps(Config with_weights, const Sequence<Real>& sequence,
                  Counts& counts) const {
    with_weights.want_weights = true;
    std::vector<StepTrace> steps;
    const auto on_step = [&](Index, const StepResult<Real>& step) {
      AddTraces(step, steps);
      ForEachHead(step, [&](const StepResult<Real>& head) {
        if (head.weights.empty() && head.end > head.begin) {
          counts.attention_mass = kNone;
        }
        for (const Real weight : head.weights) {
          counts.attention_mass += static_cast<double>(weight);
        }
      });
    };
    DecodeSequence(mechanism_, with_weights, sequence, on_step);
    const Index length = sequence.memory.rows;
    Add(mechanism_.Count(config_,
                         {.memory_length = length,
                          .steps = steps,
                          .scores_given = !sequence.inputs.scores.empty()}),
        counts.operations);
    counts.latency.Add(
        LatencyOf(DelaysOf(steps, length), length, sequence.contexts.rows));
  }

  const Mechanism<Real>& mechanism_;
  const Config& config_;
  const int threads_;
  const std::vector<Batch> draws_;
  PeerCell<Real>* const peer_;
};

template <class Real>
class TrainingTrial final : public Trial {
 public:
  TrainingTrial(const Mechanism<Real>& mechanism, const Config& config,
                const TrainingRequest& request, int threads,
                PointInputs<Real>& inputs, PeerCell<Real>* peer)
      : mechanism_(mechanism),
        config_(config),
        request_(request),
        threads_(threads),
        inputs_(inputs),
        peer_(peer) {
    const int num_draws = inputs.num_training_draws(request.attention_only);
    for (int draw = 0; draw < num_draws; ++draw) {
      draws_.push_back(inputs.Training(draw, config, request));
      draws_.back().AddParametersTo(parameters_);
    }
    if (peer_ != nullptr) held_ = peer_->Hold(draws_);
  }

  int num_draws() const override { return static_cast<int>(draws_.size()); }

  void Run(int draw) override {
    TrainBatch(mechanism_, config_, OfDraw(draw), threads_);
  }

  // Attention is made in any scope, as its mass is counted. Peaks are taken
  // afterwards, when the gradients of parameters are already there.
  Counts Count(int draw) override {
    TrainingRequest with_attention = request_;
    with_attention.want_attention = true;
    TrainingBatch<Real> counted =
        inputs_.Training(draw, config_, with_attention);
    counted.AddParametersTo(parameters_);
    Counts counts;
    double square = request_.attention_only ? kNone : 0;
    if (peer_ != nullptr) peer_->Train(counted.sequences);
    for (TrainingSequence<Real>& one : counted.sequences) {
      BandReport band;
      one.expectation.band = &band;
      if (peer_ == nullptr) {
        TrainBatch<Real>(mechanism_, config_, std::span(&one, 1), 1);
      }
      CountOutputs(one, counts, square);
      // In scope attention the gate holds gradients to their bound.
      if (config_.mode == Mode::kGradient && !request_.attention_only &&
          !band.mass_cut.empty()) {
        CountGradientError(one, counts);
      }
    }
    counts.context_l2 = std::sqrt(square);
    if (request_.attention_only) counts.context_sum = kNone;
    const Config counted_config = CountedConfig(config_, peer_ != nullptr);
    for (TrainingSequence<Real> one : OfDraw(draw)) {
      counts.view_bytes += ViewBytes(config_, mechanism_.Describe(), one);
      SequenceInputs<Real>& inputs = one.sequence.inputs;
      const AskedParameters<Real> parameters(*inputs.parameters);
      inputs.parameters = &parameters;
      counts.peak_memory_bytes += PeakBytes([&] {
        TrainBatch<Real>(mechanism_, counted_config, std::span(&one, 1), 1);
      });
      counts.parameter_bytes = parameters.bytes();
    }
    return counts;
  }

 private:
  std::span<const TrainingSequence<Real>> OfDraw(int draw) const {
    return draws_[Size(draw)].sequences;
  }

  void CountOutputs(const TrainingSequence<Real>& one, Counts& counts,
                    double& square) const {
    const MatrixView<const Real> attention = one.expectation.attention;
    for (Index i = 0; i < attention.rows; ++i) {
      for (const Real weight : attention.Row(i)) {
        counts.attention_mass += static_cast<double>(weight);
      }
    }
    CountContexts<Real>(one.sequence.contexts, counts, square);
    const std::vector<StepTrace> steps(Size(attention.rows));
    const BandReport& band = *one.expectation.band;
    const bool has_band = !band.mass_cut.empty();
    Add(mechanism_.Count(config_,
                         {.memory_length = attention.cols,
                          .steps = steps,
                          .scores_given = !one.sequence.inputs.scores.empty(),
                          .attention_only = request_.attention_only,
                          .band = has_band ? &band : nullptr}),
        counts.operations);
    if (has_band) CountBand(band, attention.cols, counts);
    for (const NamedArray<Real>& array : OutputsOf(one)) {
      counts.is_finite = counts.is_finite && IsFinite<Real>(array.values);
    }
    if (one.gradients.parameters == nullptr) return;
    for (const auto& [name, values] : one.gradients.parameters->arrays()) {
      const MatrixView<const Real> all(values.data(), 1,
                                       static_cast<Index>(values.size()));
      counts.is_finite = counts.is_finite && IsFinite(all);
    }
  }

  // Compares the gradients that a banded variant wrote with those of `exact`,
  // which overwrite them.
  void CountGradientError(TrainingSequence<Real>& one, Counts& counts) const {
    std::vector<double> found, exact;
    CopyGradients(one, found);
    Config config = config_;
    config.variant = "exact";
    one.gradients.parameters = nullptr;
    one.expectation.band = nullptr;
    TrainBatch<Real>(mechanism_, config, std::span(&one, 1), 1);
    CopyGradients(one, exact);
    double error = 0, size = 0;
    for (std::size_t n = 0; n < exact.size(); ++n) {
      error += std::abs(found[n] - exact[n]);
      size += std::abs(exact[n]);
    }
    counts.band.Add({.gradient_error = error, .gradient_size = size});
  }

  static void CopyGradients(const TrainingSequence<Real>& one,
                            std::vector<double>& values) {
    for (const NamedArray<Real>& array : OutputsOf(one)) {
      if (!array.name.starts_with("gradient of ")) continue;
      for (Index r = 0; r < array.values.rows; ++r) {
        const std::span<const Real> row = array.values.Row(r);
        values.insert(values.end(), row.begin(), row.end());
      }
    }
  }

  static void CountBand(const BandReport& band, Index T, Counts& counts) {
    counts.band.Add({.mass_cut = band.mass_cut.back(),
                     .reach = T == 0 ? 1
                                     : static_cast<double>(band.reach) /
                                           static_cast<double>(T),
                     .dense = band.dense ? 1.0 : 0.0});
    ++counts.band_sequences;
  }

  const Mechanism<Real>& mechanism_;
  const Config& config_;
  const TrainingRequest request_;
  const int threads_;
  PointInputs<Real>& inputs_;
  PeerCell<Real>* const peer_;
  std::vector<TrainingBatch<Real>> draws_;
  // Each sequence's gradients, for all draws. They are only added to, and only
  // read to see whether they are finite.
  std::vector<ParameterGradients<Real>> parameters_;
};

}  // namespace

double Trial::TimeNs(std::span<const int> draws, Index first_trial,
                     Index trials) {
  if (held_) return held_->TimeNs(draws, first_trial, trials);
  std::size_t next = static_cast<std::size_t>(first_trial) % draws.size();
  return TimeTrialsNs(trials, [&] {
    Run(draws[next]);
    if (++next == draws.size()) next = 0;
    benchmark::ClobberMemory();
  });
}

std::optional<double> Trial::PageFaults() const {
  if (held_) return held_->page_faults();
  return static_cast<double>(attnbench::PageFaults());
}

void Add(const Counts& from, Counts& to) {
  Add(from.operations, to.operations);
  to.peak_memory_bytes = std::max(to.peak_memory_bytes, from.peak_memory_bytes);
  to.view_bytes = std::max(to.view_bytes, from.view_bytes);
  to.parameter_bytes = std::max(to.parameter_bytes, from.parameter_bytes);
  to.attention_mass += from.attention_mass;
  to.context_sum += from.context_sum;
  to.context_l2 += from.context_l2;
  to.latency.Add(from.latency);
  to.band.Add(from.band);
  to.band_sequences += from.band_sequences;
  to.is_finite = to.is_finite && from.is_finite;
}

Counts Mean(Counts sum, int num_draws) {
  for (double* figure :
       {&sum.operations.energies, &sum.operations.chunk_energies,
        &sum.operations.memory_rows, &sum.operations.flops,
        &sum.operations.bytes, &sum.attention_mass, &sum.context_sum,
        &sum.context_l2}) {
    *figure /= num_draws;
  }
  return sum;
}

template <class Real>
std::unique_ptr<Trial> MakeDecodeTrial(const Mechanism<Real>& mechanism,
                                       const Config& config, int threads,
                                       Workload<Real>& workload,
                                       PeerCell<Real>* peer) {
  std::vector<std::vector<Sequence<Real>>> draws;
  for (int draw = 0; draw < workload.num_draws(); ++draw) {
    draws.push_back(
        workload.DrawFor(mechanism.Describe(), draw, config.energy));
  }
  return std::make_unique<DecodeTrial<Real>>(mechanism, config, threads,
                                             std::move(draws), peer);
}

template <class Real>
std::unique_ptr<Trial> MakeTrainingTrial(const Mechanism<Real>& mechanism,
                                         const Config& config,
                                         const TrainingRequest& request,
                                         int threads, PointInputs<Real>& inputs,
                                         PeerCell<Real>* peer) {
  return std::make_unique<TrainingTrial<Real>>(mechanism, config, request,
                                               threads, inputs, peer);
}

#define ATTNBENCH_INSTANTIATE(Real)                                       \
  template std::unique_ptr<Trial> MakeDecodeTrial(                        \
      const Mechanism<Real>&, const Config&, int, Workload<Real>&,        \
      PeerCell<Real>*);                                                   \
  template std::unique_ptr<Trial> MakeTrainingTrial(                      \
      const Mechanism<Real>&, const Config&, const TrainingRequest&, int, \
      PointInputs<Real>&, PeerCell<Real>*);
ATTNBENCH_INSTANTIATE(float)
ATTNBENCH_INSTANTIATE(double)
#undef ATTNBENCH_INSTANTIATE

}  // namespace attnbench
