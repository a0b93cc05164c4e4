#include "harness/measure/point_runner.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "harness/base/error.h"
#include "harness/base/hash.h"
#include "harness/base/purposes.h"
#include "harness/inputs/declared_inputs.h"
#include "harness/machine/calibration.h"
#include "harness/machine/clock.h"
#include "harness/machine/environment.h"
#include "harness/measure/cell_life.h"
#include "harness/measure/decode_gate.h"
#include "harness/measure/training_gate.h"
#include "harness/measure/trial.h"
#include "harness/measure/whole_decoder_cell.h"
#include "harness/measure/working_set.h"
#include "harness/results/summary.h"
#include "harness/stats/statistics.h"
#include "mechanisms/common/parallel.h"
#include "mechanisms/description.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

constexpr int kCalibrationSamples = 3;
constexpr double kLeastResolutions = 100;  // a sample lasts at least so many
constexpr Index kMostTrials = Index{1} << 40;

template <class Real>
class CellRunOf final : public CellLife {
 public:
  CellRunOf(const Cell& cell, const Mechanism<Real>& mechanism,
            InputsSource<Real> inputs, const RunOptions& options)
      : CellLife(cell, options),
        mechanism_(mechanism),
        inputs_(std::move(inputs)) {}

 private:
  void Prepare() override {
    config_ = MakeConfig(cell_);
    threads_ = static_cast<int>(cell_.Int("threads"));
    PointInputs<Real>& inputs = inputs_();
    const Sequence<Real> first = inputs.workload().Draw(0, config_.energy)[0];
    CheckNumContexts(first.inputs.scores);
    if (cell_.is_peers && !first.inputs.captured.empty()) {
      throw WorkloadUnsupported(
          "a peer computes its energies, it takes no captured ones");
    }
    SetAllocationLimit(AvailableMemoryBytes() / threads_ + KeptBytes());
    MakePeerCell();
    if (config_.mode == Mode::kDecode) {
      // Sums of all that is decoded must be those of the first process.
      if (!cell_.replicate) {
        Gate(CheckAgainstReference(mechanism_, config_, threads_,
                                   inputs.workload(), peer_.get()));
      }
      if (!is_ok()) return;
      trial_ = MakeDecodeTrial(mechanism_, config_, threads_, inputs.workload(),
                               peer_.get());
    } else {
      const TrainingRequest request = MakeTrainingRequest();
      if (options_.counter == nullptr) {
        Gate(CheckTraining(mechanism_, config_, request, threads_, inputs,
                           peer_.get()));
      }
      if (!is_ok()) return;
      trial_ = MakeTrainingTrial(mechanism_, config_, request, threads_, inputs,
                                 peer_.get());
    }
    all_draws_.resize(Size(trial_->num_draws()));
    std::iota(all_draws_.begin(), all_draws_.end(), 0);
    if (options_.counter != nullptr) return;
    Count();
    if (is_ok()) PlanSamples();
  }

  std::optional<double> PageFaults() const override {
    return trial_->PageFaults();
  }
  double TimeWhole(int round) override {
    return Sample(*trial_, round, trials_per_sample_);
  }
  void TimePart(int round) override {
    if (preparation_ == nullptr) return;
    SetSample(round, Sample(*preparation_, round, preparation_trials_),
              prepare_samples_ns_);
  }

  double TrialInstructions() override {
    // The first trial allocates what later ones find, and binds functions of
    // libraries.
    trial_->Run(0);
    double sum = 0;
    for (const int draw : all_draws_) {
      sum += options_.counter->Count([&] { trial_->Run(draw); });
    }
    return sum / static_cast<double>(all_draws_.size());
  }

  void Describe(ResultCell& result) const override {
    result.numerics->attention_mass = Known(counts_.attention_mass);
    result.numerics->context_sum = Known(counts_.context_sum);
    result.numerics->context_l2 = Known(counts_.context_l2);
    result.prepare_samples_ns = prepare_samples_ns_;
    result.draw_ns = draw_ns_;
    Summarize(result);
    result.operations = CellOperations{counts_.operations};
    if (counts_.band_sequences > 0) {
      result.band = counts_.band;
      result.band->dense /= static_cast<double>(counts_.band_sequences);
    }
    if (CountsMemory()) result.peak_memory_bytes = counts_.peak_memory_bytes;
    if (config_.mode == Mode::kDecode &&
        DecodesOnline(mechanism_.Describe(), config_)) {
      result.latency = counts_.latency.Mean();
    }
    result.limit = LimitFor(result);
  }

  void MakePeerCell() {
    if (!cell_.is_peers) return;
    ATTN_CHECK(options_.peer != nullptr);
    peer_ = std::make_unique<PeerCell<Real>>(*options_.peer, cell_, config_,
                                             mechanism_);
  }

  void CheckNumContexts(const NamedViews<const Real>& scores) const {
    if (cell_.axes.at("num_contexts").is_null()) return;
    for (const auto& [name, view] : scores) {
      if (FindInput(name)->shape[1] != 'K') continue;
      if (view.cols == config_.Option<Index>("num_contexts")) continue;
      throw WorkloadUnsupported(fmt::format(
          "the workload has scores of K = {} contexts, the cell has "
          "num_contexts {}",
          view.cols, config_.Option<Index>("num_contexts")));
    }
  }

  TrainingRequest MakeTrainingRequest() {
    TrainingRequest request;
    request.attention_only = cell_.scope() == Scope::kAttention;
    request.mechanism = &mechanism_.Describe();
    return request;
  }

  void Count() {
    Counts sum;
    for (const int draw : all_draws_) {
      const Counts counts = trial_->Count(draw);
      if (!counts.is_finite &&
          (peer_ ? peer_->must_agree()
                 : MustAgree(mechanism_.Describe(), config_))) {
        return Fail(CellStatus::kInvalid,
                    fmt::format("an output of draw {} is not finite", draw));
      }
      Add(counts, sum);
    }
    counts_ = Mean(sum, trial_->num_draws());
  }

  void PlanSamples() {
    trial_ns_ = CalibratedNs(*trial_);
    trials_per_sample_ =
        cell_.replicate
            ? cell_.replicate->trials_per_sample
            : WholeTurns(std::max(options_.trials_of_round(),
                                  TrialsFor(options_.epoch_ns, trial_ns_)),
                         trial_->num_draws());
    preparation_ = trial_->Preparation();
    if (preparation_ == nullptr) return;
    preparation_trials_ =
        WholeTurns(TrialsFor(kPreparationShare * options_.epoch_ns,
                             CalibratedNs(*preparation_)),
                   trial_->num_draws());
  }

  double Sample(Trial& trial, int round, Index trials) const {
    return trial.TimeNs(
        DrawsOfSample(all_draws_, trials, options_.first_round + round), 0,
        trials);
  }

  // Time of a trial, roughly: doubles the number of trials until they last long
  // enough to tell, which also warms caches and threads up. The least of a few:
  // one interruption must not pass for a long trial, or samples get too short.
  double CalibratedNs(Trial& trial) const {
    const double enough_ns = std::max(kLeastResolutions * ClockResolutionNs(),
                                      options_.epoch_ns / 4);
    for (Index trials = 1;; trials *= 2) {
      const auto is_enough = [&](double trial_ns) {
        return trial_ns * static_cast<double>(trials) >= enough_ns ||
               trials >= kMostTrials;
      };
      double trial_ns = trial.TimeNs(all_draws_, 0, trials);
      for (int n = 1; n < kCalibrationSamples && is_enough(trial_ns); ++n) {
        trial_ns = std::min(trial_ns, trial.TimeNs(all_draws_, 0, trials));
      }
      if (is_enough(trial_ns)) return trial_ns;
    }
  }

  // Trials that last about `duration_ns`, and long enough for the clock.
  static Index TrialsFor(double duration_ns, double trial_ns) {
    const double least_ns =
        std::max(duration_ns, kLeastResolutions * ClockResolutionNs());
    const double trials = std::ceil(least_ns / std::max(trial_ns, 1e-3));
    return std::clamp<Index>(static_cast<Index>(trials), 1, kMostTrials);
  }

  void TimeEachDraw() override {
    const double duration_ns =
        options_.epoch_ns / static_cast<double>(all_draws_.size());
    const Index trials = TrialsFor(duration_ns, trial_ns_);
    for (const int draw : all_draws_) {
      draw_ns_.push_back(trial_->TimeNs(std::span(&draw, 1), 0, trials));
    }
  }

  bool CountsMemory() const {
    return peer_ == nullptr &&
           VariantOf(mechanism_.Describe(), config_).counts_memory;
  }

  std::optional<CellLimit> LimitFor(const ResultCell& result) const {
    const Index own_bytes = CountsMemory() ? counts_.peak_memory_bytes : 0;
    const Index working_set_bytes =
        WorkingSetBytes(counts_.view_bytes + own_bytes, counts_.parameter_bytes,
                        cell_.Int("batch"), threads_);
    return LimitOf(options_.limits, {.precision = cell_.precision(),
                                     .threads = threads_,
                                     .mode = config_.mode,
                                     .operations = counts_.operations,
                                     .working_set_bytes = working_set_bytes,
                                     .median_ns = *result.median_ns,
                                     .interval_ns = result.interval_ns});
  }

  const Mechanism<Real>& mechanism_;
  const InputsSource<Real> inputs_;

  Config config_;
  int threads_ = 1;
  std::unique_ptr<PeerCell<Real>> peer_;  // null: ours
  std::unique_ptr<Trial> trial_;
  std::vector<int> all_draws_;
  Counts counts_;
  double trial_ns_ = 0;                 // of the calibration
  std::unique_ptr<Trial> preparation_;  // null: there is none
  Index preparation_trials_ = 0;
  std::vector<double> prepare_samples_ns_;
  std::vector<double> draw_ns_;
};

// The inputs of a point in one precision, made once and only if asked for.
template <class Real>
class LazyInputs {
 public:
  explicit LazyInputs(const WorkloadSpec& spec) : spec_(spec) {}
  PointInputs<Real>& Get() {
    if (!inputs_) inputs_.emplace(spec_);
    return *inputs_;
  }

 private:
  const WorkloadSpec spec_;
  std::optional<PointInputs<Real>> inputs_;
};

// What an earlier point has freed goes back to the system, or it would decide
// where the arrays of this one lie.
void ForgetMemory(const Point& point) {
  static std::int64_t threads = 1;  // the most of all points so far
  for (const Cell& cell : point.cells) {
    if (!cell.skip_reason) threads = std::max(threads, cell.Int("threads"));
  }
  ParallelFor(threads, static_cast<int>(threads),
              [](Index) { ReleaseKeptArrays(); });
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

WorkloadSpec SpecOf(const Point& point, const RunOptions& options) {
  const auto number = [&point](const char* axis) {
    return point.axes.at(axis).whole();
  };
  return {.workload = point.axes.at("workload").text(),
          .memory_length = number("memory_length"),
          .output_length = number("output_length"),
          .dim = number("dim"),
          .batch = number("batch"),
          .seed = options.seed,
          .most_draws = options.most_draws,
          .gaps = options.gaps};
}

template <class Real>
std::unique_ptr<CellRun> MakeRegisteredRun(const Cell& cell,
                                           LazyInputs<Real>& inputs,
                                           const RunOptions& options) {
  const Mechanism<Real>* const mechanism = FindMechanism<Real>(cell.mechanism);
  ATTN_CHECK(mechanism != nullptr);
  return MakeCellRun<Real>(
      cell, *mechanism,
      [&inputs]() -> PointInputs<Real>& { return inputs.Get(); }, options);
}

}  // namespace

template <class Real>
std::unique_ptr<CellRun> MakeCellRun(const Cell& cell,
                                     const Mechanism<Real>& mechanism,
                                     InputsSource<Real> inputs,
                                     const RunOptions& options) {
  return std::make_unique<CellRunOf<Real>>(cell, mechanism, std::move(inputs),
                                           options);
}

template std::unique_ptr<CellRun> MakeCellRun(const Cell&,
                                              const Mechanism<float>&,
                                              InputsSource<float>,
                                              const RunOptions&);
template std::unique_ptr<CellRun> MakeCellRun(const Cell&,
                                              const Mechanism<double>&,
                                              InputsSource<double>,
                                              const RunOptions&);

namespace {

// Rounds that strayed are timed again where the machine is better now
// (RunCells).
template <class TimeRound>
void TimeStrayedAgain(Probing& probing, const TimeRound& time_round) {
  std::vector<ProbeTimes>& rounds = probing.rounds.times;
  const Excess excess(rounds);
  std::size_t left = std::max<std::size_t>(1, rounds.size() / 2);
  for (std::size_t round = 0; round < rounds.size() && left > 0; ++round) {
    if (excess(rounds[round]) <= kStraying) continue;
    --left;
    const ProbeTimes now = probing.probe();
    if (excess(now) >= excess(rounds[round])) continue;
    time_round(static_cast<int>(round));
    rounds[round] = now;
    ++probing.rounds.again;
  }
}

}  // namespace

Index WholeTurns(Index trials, Index num_draws) {
  return trials == 1 ? 1 : (trials + num_draws - 1) / num_draws * num_draws;
}

std::span<const int> DrawsOfSample(std::span<const int> draws, Index trials,
                                   Index round) {
  if (Size(trials) >= draws.size()) return draws;
  return draws.subspan(Size(round) % draws.size(), 1);
}

std::vector<std::size_t> RoundOrder(std::uint64_t seed, std::uint64_t point_key,
                                    int round, std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  // The shuffle of Fisher and Yates: element n - 1 changes places with one of
  // the first n. 24 bits of the index are for n, more cells than a point can
  // have.
  for (std::size_t n = count; n > 1; --n) {
    const std::uint32_t word =
        Philox(seed, kSchedulePurpose, static_cast<std::uint32_t>(round),
               (point_key << 24) ^ n)[0];
    // The choice is uniform except for less than n / 2^32.
    const std::size_t other =
        static_cast<std::size_t>((static_cast<std::uint64_t>(word) * n) >> 32);
    std::swap(order[n - 1], order[other]);
  }
  return order;
}

std::vector<ResultCell> RunCells(std::span<const std::unique_ptr<CellRun>> runs,
                                 std::uint64_t point_key,
                                 const RunOptions& options,
                                 const StepBegins& begins) {
  const auto num_steps =
      runs.size() * (static_cast<std::size_t>(options.repetitions) + 2);
  std::size_t num_done = 0;
  const auto share = [&] {
    return static_cast<double>(num_done) / static_cast<double>(num_steps);
  };
  const auto next = [&](std::size_t cell) {
    begins(cell, share());
    ++num_done;
  };
  for (std::size_t index = 0; index < runs.size(); ++index) {
    next(index);
    runs[index]->Check();
  }
  const auto time_round = [&](int round, const auto& step_begins) {
    for (const std::size_t index :
         RoundOrder(options.seed, point_key, options.first_round + round,
                    runs.size())) {
      step_begins(index);
      runs[index]->TimeRound(round);
    }
  };
  for (int round = 0; round < options.repetitions; ++round) {
    if (options.probing != nullptr) {
      options.probing->rounds.times.push_back(options.probing->probe());
    }
    time_round(round, next);
  }
  if (options.probing != nullptr) {
    // How many stray is not known before, so they do not count as steps.
    TimeStrayedAgain(*options.probing, [&](int round) {
      time_round(round, [&](std::size_t cell) { begins(cell, share()); });
    });
  }
  for (std::size_t index = 0; index < runs.size(); ++index) {
    next(index);
    runs[index]->MeasureDraws();
  }
  std::vector<ResultCell> results;
  for (const auto& run : runs) results.push_back(run->Result());
  return results;
}

std::vector<ResultCell> RunPoint(const Point& point, const RunOptions& options,
                                 const StepBegins& begins) {
  ForgetMemory(point);
  const WorkloadSpec spec = SpecOf(point, options);
  LazyInputs<float> floats(spec);
  LazyInputs<double> doubles(spec);
  std::optional<DecoderInputs> of_decoders;
  const auto decoder_inputs = [&]() -> const DecoderInputs& {
    if (!of_decoders) {
      of_decoders.emplace(point.axes, options.seed, options.gaps);
    }
    return *of_decoders;
  };
  std::vector<std::unique_ptr<CellRun>> runs;
  for (const Cell& cell : point.cells) {
    if (IsWholeDecoder(cell.axes) || cell.mechanism == kNoAttention) {
      runs.push_back(MakeDecoderRun(cell, decoder_inputs, options));
    } else if (cell.precision() == Precision::kF64) {
      runs.push_back(MakeRegisteredRun(cell, doubles, options));
    } else {
      runs.push_back(MakeRegisteredRun(cell, floats, options));
    }
  }
  Fnv1a key;
  key.Add(ToJson(point.axes).dump());
  return RunCells(runs, key.hash(), options, begins);
}

}  // namespace attnbench
