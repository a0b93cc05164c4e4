#include "harness/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "harness/calibration.h"
#include "harness/clock.h"
#include "harness/environment.h"
#include "harness/error.h"
#include "harness/gate.h"
#include "harness/gate_training.h"
#include "harness/guarded_run.h"
#include "harness/json_number.h"
#include "harness/schedule.h"
#include "harness/statistics.h"
#include "harness/summary.h"
#include "harness/trial.h"
#include "harness/working_set.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

constexpr int kPrepareSamples = 6;  // the fewest that have an interval
constexpr int kCalibrationSamples = 3;
constexpr double kLeastResolutions = 100;  // a sample lasts at least so many
constexpr Index kMostTrials = Index{1} << 40;

Json OperationsJson(const Operations& operations) {
  return {{"energies", operations.energies},
          {"chunk_energies", operations.chunk_energies},
          {"memory_rows", operations.memory_rows},
          {"flops", operations.flops},
          {"bytes", operations.bytes}};
}

template <class Real>
class CellRunOf final : public GuardedRun {
 public:
  CellRunOf(const AxisTable& table, const Cell& cell,
            const Mechanism<Real>& mechanism, InputsSource<Real> inputs,
            const RunOptions& options)
      : table_(table),
        cell_(cell),
        mechanism_(mechanism),
        inputs_(std::move(inputs)),
        options_(options) {
    if (cell.skip_reason.has_value()) Fail("skipped", *cell.skip_reason);
  }

  void Check() override {
    Guarded([this] {
      config_ = MakeConfig(cell_);
      threads_ = static_cast<int>(cell_.Int("threads"));
      PointInputs<Real>& inputs = inputs_();
      TakeGivenScores(
          inputs.workload().Draw(0, config_.energy)[0].inputs.given);
      SetAllocationLimit(AvailableMemoryBytes() / threads_);
      MakePeerCell();
      if (config_.mode == "decode") {
        Pass(CheckAgainstReference(mechanism_, config_, threads_,
                                   inputs.workload(), peer_.get()));
        if (status() != "ok") return;
        trial_ = MakeDecodeTrial(mechanism_, config_, threads_,
                                 inputs.workload(), peer_.get());
      } else {
        const TrainingRequest request = MakeTrainingRequest();
        Pass(CheckTraining(mechanism_, config_, request, threads_, inputs,
                           peer_.get()));
        if (status() != "ok") return;
        trial_ = MakeTrainingTrial(mechanism_, config_, request, threads_,
                                   inputs, peer_.get());
      }
      all_draws_.resize(Size(trial_->num_draws()));
      std::iota(all_draws_.begin(), all_draws_.end(), 0);
      Count();
      if (status() == "ok") PlanSamples();
    });
  }

  void TimeRound(int round) override {
    Guarded([&] {
      samples_ns_.push_back(trial_->TimeNs(
          all_draws_, round * trials_per_sample_, trials_per_sample_));
    });
  }

  void TimeParts() override {
    Guarded([this] {
      TimePreparation();
      TimeEachDraw();
    });
  }

  Json Result() const override {
    Json json = FailedCell(table_, cell_, status(), message());
    json["numerics"] = Numerics();
    if (status() != "ok") return json;
    json["message"] = nullptr;
    json["samples_ns"] = samples_ns_;
    json["trials_per_sample"] = trials_per_sample_;
    json["prepare_samples_ns"] = prepare_samples_ns_;
    json["draw_ns"] = draw_ns_;
    Summarize(json);
    json["operations"] = OperationsJson(counts_.operations);
    if (CountsMemory()) json["peak_memory_bytes"] = counts_.peak_memory_bytes;
    if (config_.mode == "decode" && mechanism_.Describe().online) {
      json["latency"] = LatencyJson(counts_.latency.Mean());
    }
    json["limit"] = Limit(json["median_ns"]);
    return json;
  }

 private:
  void MakePeerCell() {
    if (!cell_.is_peers) return;
    ATTN_CHECK(options_.peer != nullptr);
    peer_ = std::make_unique<PeerCell<Real>>(*options_.peer, cell_, config_,
                                             mechanism_);
  }

  void TakeGivenScores(const GivenScores<Real>* given) {
    config_.scores_given = given != nullptr;
    if (given == nullptr || given->encoder_scores.data == nullptr) return;
    const Index num_contexts = given->encoder_scores.cols;
    if (!cell_.axes.at("num_contexts").is_null() &&
        num_contexts != config_.num_contexts) {
      throw WorkloadUnsupported(fmt::format(
          "the workload has scores of K = {} contexts, the cell has "
          "num_contexts {}",
          num_contexts, config_.num_contexts));
    }
  }

  TrainingRequest MakeTrainingRequest() {
    TrainingRequest request;
    request.attention_only = cell_.Text("scope") == "attention";
    request.scores = mechanism_.Describe().scores;
    config_.attention_only = request.attention_only;
    if (request.attention_only) config_.scores_given = true;
    return request;
  }

  void Pass(GateResult gate) {
    gate_ = std::move(gate);
    if (!gate_.message.empty()) Fail("invalid", gate_.message);
  }

  void Count() {
    Counts sum;
    for (const int draw : all_draws_) {
      const Counts counts = trial_->Count(draw);
      if (!counts.is_finite &&
          (peer_ ? peer_->must_agree() : MustAgree(config_))) {
        return Fail("invalid",
                    fmt::format("an output of draw {} is not finite", draw));
      }
      Add(counts, sum);
    }
    counts_ = Mean(sum, trial_->num_draws());
  }

  void PlanSamples() {
    trial_ns_ = CalibratedNs(*trial_);
    const Index of_each_round =
        (options_.trials + options_.repetitions - 1) / options_.repetitions;
    // Each draw equally often in every sample of every cell: which draws it has
    // must not be what tells two samples, or two cells, apart.
    const auto num_draws = static_cast<Index>(all_draws_.size());
    trials_per_sample_ =
        std::max(of_each_round, TrialsFor(options_.epoch_ns, trial_ns_));
    trials_per_sample_ =
        (trials_per_sample_ + num_draws - 1) / num_draws * num_draws;
    if (cell_.trials_per_sample > 0) {
      trials_per_sample_ = cell_.trials_per_sample;
    }
  }

  // Time of a trial, roughly: doubles the number of trials until they last long
  // enough to tell, which also warms caches and threads up. The least of a few:
  // one interruption must not pass for a long trial, or samples get too short.
  double CalibratedNs(const Trial& trial) const {
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

  void TimePreparation() {
    const std::unique_ptr<Trial> preparation = trial_->Preparation();
    if (preparation == nullptr) return;
    const Index trials =
        TrialsFor(options_.epoch_ns, CalibratedNs(*preparation));
    for (int sample = 0; sample < kPrepareSamples; ++sample) {
      prepare_samples_ns_.push_back(
          preparation->TimeNs(all_draws_, sample * trials, trials));
    }
  }

  void TimeEachDraw() {
    const double duration_ns =
        options_.epoch_ns / static_cast<double>(all_draws_.size());
    const Index trials = TrialsFor(duration_ns, trial_ns_);
    for (const int draw : all_draws_) {
      draw_ns_.push_back(trial_->TimeNs(std::span(&draw, 1), 0, trials));
    }
  }

  bool CountsMemory() const {
    if (peer_ != nullptr) return false;
    for (const VariantSpec& variant : mechanism_.Describe().variants) {
      if (variant.name == config_.variant) return variant.counts_memory;
    }
    return true;
  }

  Json Limit(double median_ns) const {
    const Index own_bytes = CountsMemory() ? counts_.peak_memory_bytes : 0;
    const Index working_set_bytes =
        WorkingSetBytes(counts_.view_bytes + own_bytes, counts_.parameter_bytes,
                        cell_.Int("batch"), threads_);
    return LimitJson(options_.limits, {.precision = cell_.Text("precision"),
                                       .threads = threads_,
                                       .mode = config_.mode,
                                       .operations = counts_.operations,
                                       .working_set_bytes = working_set_bytes,
                                       .median_ns = median_ns});
  }

  Json Numerics() const {
    const bool is_ok = status() == "ok";
    const bool was_compared = is_ok || !gate_.message.empty();
    if (!was_compared) return nullptr;
    const auto if_ok = [is_ok](double value) {
      return is_ok ? NumberOrNull(value) : Json(nullptr);
    };
    return {{"attention_mass", if_ok(counts_.attention_mass)},
            {"context_sum", if_ok(counts_.context_sum)},
            {"context_l2", if_ok(counts_.context_l2)},
            {"error", NumberOrNull(gate_.error)},
            {"error_bound", NumberOrNull(gate_.error_bound)}};
  }

  const AxisTable& table_;
  const Cell& cell_;
  const Mechanism<Real>& mechanism_;
  const InputsSource<Real> inputs_;
  const RunOptions& options_;

  Config config_;
  int threads_ = 1;
  std::unique_ptr<PeerCell<Real>> peer_;  // null: ours
  std::unique_ptr<Trial> trial_;
  std::vector<int> all_draws_;
  GateResult gate_;
  Counts counts_;
  double trial_ns_ = 0;  // of the calibration
  Index trials_per_sample_ = 0;
  std::vector<double> samples_ns_;
  std::vector<double> prepare_samples_ns_;
  std::vector<double> draw_ns_;
};

// The inputs of a point in one precision, made once and only if asked for.
template <class Real>
class LazyInputs {
 public:
  explicit LazyInputs(const WorkloadSpec& spec) : spec_(spec) {}
  PointInputs<Real>& Get() {
    if (!inputs_) inputs_.emplace(MakeWorkload<Real>(spec_));
    return *inputs_;
  }

 private:
  const WorkloadSpec spec_;
  std::optional<PointInputs<Real>> inputs_;
};

WorkloadSpec SpecOf(const Point& point, std::uint64_t seed) {
  const auto number = [&point](const char* axis) {
    return point.axes.at(axis).get<Index>();
  };
  return {.workload = point.axes.at("workload").get<std::string>(),
          .memory_length = number("memory_length"),
          .output_length = number("output_length"),
          .dim = number("dim"),
          .batch = number("batch"),
          .seed = seed};
}

template <class Real>
std::unique_ptr<CellRun> MakeRegisteredRun(const AxisTable& table,
                                           const Cell& cell,
                                           LazyInputs<Real>& inputs,
                                           const RunOptions& options) {
  const Mechanism<Real>* const mechanism = FindMechanism<Real>(cell.mechanism);
  ATTN_CHECK(mechanism != nullptr);
  return MakeCellRun<Real>(
      table, cell, *mechanism,
      [&inputs]() -> PointInputs<Real>& { return inputs.Get(); }, options);
}

}  // namespace

Json FailedCell(const AxisTable& table, const Cell& cell,
                const std::string& status, const std::string& message) {
  Json json = {{"mechanism", cell.mechanism}};
  for (const Axis& axis : table) json[axis.name] = cell.axes.at(axis.name);
  json.update({{"options", OptionsJson(cell)},
               {"status", status},
               {"message", message},
               {"samples_ns", Json::array()},
               {"trials_per_sample", nullptr},
               {"processes", 1},
               {"median_ns", nullptr},
               {"interval_ns", nullptr},
               {"prepare_ns", nullptr},
               {"spread", nullptr},
               {"prepare_samples_ns", Json::array()},
               {"draw_ns", Json::array()},
               {"operations", nullptr},
               {"latency", nullptr},
               {"peak_memory_bytes", nullptr},
               {"limit", nullptr},
               {"numerics", nullptr}});
  return json;
}

template <class Real>
std::unique_ptr<CellRun> MakeCellRun(const AxisTable& table, const Cell& cell,
                                     const Mechanism<Real>& mechanism,
                                     InputsSource<Real> inputs,
                                     const RunOptions& options) {
  return std::make_unique<CellRunOf<Real>>(table, cell, mechanism,
                                           std::move(inputs), options);
}

template std::unique_ptr<CellRun> MakeCellRun(const AxisTable&, const Cell&,
                                              const Mechanism<float>&,
                                              InputsSource<float>,
                                              const RunOptions&);
template std::unique_ptr<CellRun> MakeCellRun(const AxisTable&, const Cell&,
                                              const Mechanism<double>&,
                                              InputsSource<double>,
                                              const RunOptions&);

std::vector<Json> RunCells(std::span<const std::unique_ptr<CellRun>> runs,
                           std::uint64_t point_key, const RunOptions& options,
                           const StepBegins& begins) {
  const auto num_steps =
      runs.size() * (static_cast<std::size_t>(options.repetitions) + 2);
  std::size_t num_done = 0;
  const auto next = [&](std::size_t cell) {
    begins(cell,
           static_cast<double>(num_done++) / static_cast<double>(num_steps));
  };
  for (std::size_t index = 0; index < runs.size(); ++index) {
    next(index);
    runs[index]->Check();
  }
  for (int round = 0; round < options.repetitions; ++round) {
    if (options.calibration_ns != nullptr) {
      options.calibration_ns->push_back(TimeCalibrationNs());
    }
    for (const std::size_t index :
         RoundOrder(options.seed, point_key, round, runs.size())) {
      next(index);
      runs[index]->TimeRound(round);
    }
  }
  std::vector<Json> results;
  for (std::size_t index = 0; index < runs.size(); ++index) {
    next(index);
    runs[index]->TimeParts();
    results.push_back(runs[index]->Result());
  }
  return results;
}

std::vector<Json> RunPoint(const AxisTable& table, const Point& point,
                           const RunOptions& options,
                           const StepBegins& begins) {
  const WorkloadSpec spec = SpecOf(point, options.seed);
  LazyInputs<float> floats(spec);
  LazyInputs<double> doubles(spec);
  std::vector<std::unique_ptr<CellRun>> runs;
  for (const Cell& cell : point.cells) {
    runs.push_back(cell.Text("precision") == "f64"
                       ? MakeRegisteredRun(table, cell, doubles, options)
                       : MakeRegisteredRun(table, cell, floats, options));
  }
  Fnv1a key;
  key.Add(point.axes.dump());
  return RunCells(runs, key.hash(), options, begins);
}

}  // namespace attnbench
