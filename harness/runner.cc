#include "harness/runner.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/clock.h"
#include "harness/environment.h"
#include "harness/error.h"
#include "harness/gate.h"
#include "harness/schedule.h"
#include "harness/statistics.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

constexpr int kPrepareSamples = 3;
constexpr int kCalibrationSamples = 3;
constexpr double kLeastResolutions = 100;  // a sample lasts at least so many
constexpr Index kMostTrials = Index{1} << 40;

// Figures of a cell that do not depend on the clock.
struct Counts {
  Operations operations;
  Index peak_memory_bytes = 0;
  double attention_mass = 0;  // NaN where a variant makes no weights
  double context_sum = 0;
  double context_l2 = 0;
};

void Add(const Operations& from, Operations& to) {
  to.energies += from.energies;
  to.chunk_energies += from.chunk_energies;
  to.memory_rows += from.memory_rows;
  to.flops += from.flops;
  to.bytes += from.bytes;
}

void Add(const Counts& from, Counts& to) {
  Add(from.operations, to.operations);
  to.peak_memory_bytes = std::max(to.peak_memory_bytes, from.peak_memory_bytes);
  to.attention_mass += from.attention_mass;
  to.context_sum += from.context_sum;
  to.context_l2 += from.context_l2;
}

// Of the sum over `num_draws` draws. Divided once, at the end: where all draws
// did the same, the mean is exactly that.
Counts Mean(Counts sum, std::size_t num_draws) {
  const auto n = static_cast<double>(num_draws);
  for (double* figure :
       {&sum.operations.energies, &sum.operations.chunk_energies,
        &sum.operations.memory_rows, &sum.operations.flops,
        &sum.operations.bytes, &sum.attention_mass, &sum.context_sum,
        &sum.context_l2}) {
    *figure /= n;
  }
  return sum;
}

Json NumberOrNull(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json OperationsJson(const Operations& operations) {
  return {{"energies", operations.energies},
          {"chunk_energies", operations.chunk_energies},
          {"memory_rows", operations.memory_rows},
          {"flops", operations.flops},
          {"bytes", operations.bytes}};
}

// One untimed decode of a draw: what it did and what came out.
template <class Real>
Counts CountDraw(const Mechanism<Real>& mechanism, const Config& config,
                 std::span<const Sequence<Real>> batch) {
  Config with_weights = config;
  with_weights.want_weights = true;
  Counts counts;
  double square = 0;
  for (const Sequence<Real>& sequence : batch) {
    std::vector<StepTrace> steps;
    const auto on_step = [&](Index, const StepResult<Real>& step) {
      steps.push_back({step.position, step.begin, step.end, step.inspected});
      if (step.weights.empty() && step.end > step.begin) {
        counts.attention_mass = std::numeric_limits<double>::quiet_NaN();
      }
      for (const Real weight : step.weights) {
        counts.attention_mass += static_cast<double>(weight);
      }
    };
    DecodeSequence(mechanism, with_weights, sequence, on_step);
    Add(mechanism.Count(config, sequence.memory.memory.rows, steps),
        counts.operations);
    for (Index i = 0; i < sequence.contexts.rows; ++i) {
      for (const Real element : sequence.contexts.Row(i)) {
        const auto value = static_cast<double>(element);
        counts.context_sum += value;
        square += value * value;
      }
    }
  }
  counts.context_l2 = std::sqrt(square);
  return counts;
}

// Bytes that the sequences of a draw hold at their peaks, one after another so
// that the figure does not depend on threads.
template <class Real>
Index PeakMemoryBytes(const Mechanism<Real>& mechanism, const Config& config,
                      std::span<const Sequence<Real>> batch) {
  Index total = 0;
  for (const Sequence<Real>& sequence : batch) {
    MemoryUse& use = ThreadMemoryUse();
    const Index before = use.current_bytes;
    use.peak_bytes = before;
    DecodeSequence(mechanism, config, sequence,
                   [](Index, const StepResult<Real>&) {});
    total += use.peak_bytes - before;
  }
  return total;
}

template <class Real>
class CellRunOf final : public CellRun {
 public:
  CellRunOf(const AxisTable& table, const Cell& cell,
            const Mechanism<Real>& mechanism, WorkloadSource<Real> workload,
            const RunOptions& options)
      : table_(table),
        cell_(cell),
        mechanism_(mechanism),
        workload_(std::move(workload)),
        options_(options) {
    if (cell.skip_reason.has_value()) Fail("skipped", *cell.skip_reason);
  }

  void Check() override {
    Guarded([this] {
      config_ = MakeConfig(cell_);
      threads_ = static_cast<int>(cell_.Int("threads"));
      Workload<Real>& workload = workload_();
      TakeGivenScores(workload.Draw(0, config_.energy)[0].inputs.given);
      SetAllocationLimit(AvailableMemoryBytes() / threads_);
      gate_ = CheckAgainstReference(mechanism_, config_, threads_, workload);
      if (!gate_.message.empty()) return Fail("invalid", gate_.message);
      for (int draw = 0; draw < workload.num_draws(); ++draw) {
        draws_.push_back(workload.Draw(draw, config_.energy));
      }
      Count();
      if (status_ == "ok") PlanSamples();
    });
  }

  void TimeRound(int round) override {
    Guarded([&] {
      samples_ns_.push_back(
          TimeNs(draws_, round * trials_per_sample_, trials_per_sample_));
    });
  }

  void TimeParts() override {
    Guarded([this] {
      TimePreparation();
      TimeEachDraw();
    });
  }

  Json Result() const override {
    Json json = {{"mechanism", cell_.mechanism}};
    for (const Axis& axis : table_) json[axis.name] = cell_.axes.at(axis.name);
    json["options"] = OptionsJson(cell_);
    json["status"] = status_;
    const bool is_ok = status_ == "ok";
    json["message"] = is_ok ? Json(nullptr) : Json(message_);
    json["samples_ns"] = is_ok ? Json(samples_ns_) : Json::array();
    json["trials_per_sample"] =
        is_ok ? Json(trials_per_sample_) : Json(nullptr);
    json["median_ns"] = nullptr;
    json["interval_ns"] = nullptr;
    if (is_ok) {
      const Interval interval = MedianInterval(samples_ns_);
      json["median_ns"] = Median(samples_ns_);
      json["interval_ns"] = {interval.low, interval.high};
    }
    json["prepare_ns"] = is_ok ? Json(prepare_ns_) : Json(nullptr);
    json["draw_ns"] = is_ok ? Json(draw_ns_) : Json::array();
    json["operations"] =
        is_ok ? OperationsJson(counts_.operations) : Json(nullptr);
    json["peak_memory_bytes"] = is_ok && CountsMemory()
                                    ? Json(counts_.peak_memory_bytes)
                                    : Json(nullptr);
    json["numerics"] = Numerics();
    return json;
  }

 private:
  using Batch = std::vector<Sequence<Real>>;

  void Fail(const std::string& status, const std::string& message) {
    status_ = status;
    message_ = message;
  }

  // Runs a step of a cell that has not failed; what it throws is how the cell
  // failed.
  template <class Step>
  void Guarded(const Step& step) {
    if (status_ != "ok") return;
    try {
      step();
    } catch (const UserError&) {
      throw;
    } catch (const Unsupported& error) {
      Fail("skipped", error.what());
    } catch (const WorkloadUnsupported& error) {
      Fail("skipped", error.what());
    } catch (const std::bad_alloc&) {
      Fail("error", "needs more memory than there is");
    } catch (const std::exception& error) {
      Fail("error", error.what());
    } catch (...) {
      Fail("error", "threw something that is no std::exception");
    }
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

  // Means over draws; of peaks, the largest.
  void Count() {
    Counts sum;
    for (std::size_t n = 0; n < draws_.size(); ++n) {
      const std::span<const Sequence<Real>> batch(draws_[n]);
      Counts counts = CountDraw(mechanism_, config_, batch);
      if (!std::isfinite(counts.context_l2)) {
        return Fail("invalid", "a context of draw " + std::to_string(n) +
                                   " is not finite");
      }
      counts.peak_memory_bytes = PeakMemoryBytes(mechanism_, config_, batch);
      Add(counts, sum);
    }
    counts_ = Mean(sum, draws_.size());
  }

  void PlanSamples() {
    trial_ns_ = CalibratedNs(draws_);
    const Index of_each_round =
        (options_.trials + options_.repetitions - 1) / options_.repetitions;
    // Each draw equally often in every sample of every cell: which draws it has
    // must not be what tells two samples, or two cells, apart.
    const auto num_draws = static_cast<Index>(draws_.size());
    trials_per_sample_ =
        std::max(of_each_round, TrialsFor(options_.epoch_ns, trial_ns_));
    trials_per_sample_ =
        (trials_per_sample_ + num_draws - 1) / num_draws * num_draws;
  }

  // Time of a trial, roughly: doubles the number of trials until they last long
  // enough to tell, which also warms caches and threads up. The least of a few:
  // one interruption must not pass for a long trial, or samples get too short.
  double CalibratedNs(const std::vector<Batch>& draws) const {
    const double enough_ns = std::max(kLeastResolutions * ClockResolutionNs(),
                                      options_.epoch_ns / 4);
    for (Index trials = 1;; trials *= 2) {
      const auto is_enough = [&](double trial_ns) {
        return trial_ns * static_cast<double>(trials) >= enough_ns ||
               trials >= kMostTrials;
      };
      double trial_ns = TimeNs(draws, 0, trials);
      for (int n = 1; n < kCalibrationSamples && is_enough(trial_ns); ++n) {
        trial_ns = std::min(trial_ns, TimeNs(draws, 0, trials));
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

  // Time of each of `trials` trials, the first of them being number
  // `first_trial`; draws are cycled by the number of the trial.
  double TimeNs(const std::vector<Batch>& draws, Index first_trial,
                Index trials) const {
    std::size_t draw = static_cast<std::size_t>(first_trial) % draws.size();
    return TimeTrialsNs(trials, [&] {
      const Batch& batch = draws[draw];
      if (++draw == draws.size()) draw = 0;
      DecodeBatch(mechanism_, config_, std::span<const Sequence<Real>>(batch),
                  threads_);
      benchmark::DoNotOptimize(batch[0].contexts.data);
      benchmark::ClobberMemory();
    });
  }

  // A sequence without outputs is made, appended and closed, and no more.
  void TimePreparation() {
    std::vector<Batch> draws = draws_;
    for (Batch& batch : draws) {
      for (Sequence<Real>& sequence : batch) sequence.contexts.rows = 0;
    }
    const Index trials = TrialsFor(options_.epoch_ns, CalibratedNs(draws));
    std::vector<double> samples_ns;
    for (int sample = 0; sample < kPrepareSamples; ++sample) {
      samples_ns.push_back(TimeNs(draws, sample * trials, trials));
    }
    prepare_ns_ = Median(samples_ns);
  }

  void TimeEachDraw() {
    const double duration_ns =
        options_.epoch_ns / static_cast<double>(draws_.size());
    const Index trials = TrialsFor(duration_ns, trial_ns_);
    for (const Batch& batch : draws_) {
      draw_ns_.push_back(TimeNs({batch}, 0, trials));
    }
  }

  bool CountsMemory() const {
    for (const VariantSpec& variant : mechanism_.Describe().variants) {
      if (variant.name == config_.variant) return variant.counts_memory;
    }
    return true;
  }

  Json Numerics() const {
    const bool is_ok = status_ == "ok";
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
  const WorkloadSource<Real> workload_;
  const RunOptions& options_;

  Config config_;
  int threads_ = 1;
  std::vector<Batch> draws_;
  std::string status_ = "ok";
  std::string message_;
  GateResult gate_;
  Counts counts_;
  double trial_ns_ = 0;  // of the calibration
  Index trials_per_sample_ = 0;
  std::vector<double> samples_ns_;
  double prepare_ns_ = 0;
  std::vector<double> draw_ns_;
};

// The inputs of a point in one precision, made once and only if asked for.
template <class Real>
class LazyWorkload {
 public:
  explicit LazyWorkload(const WorkloadSpec& spec) : spec_(spec) {}
  Workload<Real>& Get() {
    if (!workload_) workload_ = MakeWorkload<Real>(spec_);
    return *workload_;
  }

 private:
  const WorkloadSpec spec_;
  std::unique_ptr<Workload<Real>> workload_;
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
                                           LazyWorkload<Real>& workload,
                                           const RunOptions& options) {
  const Mechanism<Real>* const mechanism = FindMechanism<Real>(cell.mechanism);
  ATTN_CHECK(mechanism != nullptr);
  return MakeCellRun<Real>(
      table, cell, *mechanism,
      [&workload]() -> Workload<Real>& { return workload.Get(); }, options);
}

}  // namespace

template <class Real>
std::unique_ptr<CellRun> MakeCellRun(const AxisTable& table, const Cell& cell,
                                     const Mechanism<Real>& mechanism,
                                     WorkloadSource<Real> workload,
                                     const RunOptions& options) {
  return std::make_unique<CellRunOf<Real>>(table, cell, mechanism,
                                           std::move(workload), options);
}

template std::unique_ptr<CellRun> MakeCellRun(const AxisTable&, const Cell&,
                                              const Mechanism<float>&,
                                              WorkloadSource<float>,
                                              const RunOptions&);
template std::unique_ptr<CellRun> MakeCellRun(const AxisTable&, const Cell&,
                                              const Mechanism<double>&,
                                              WorkloadSource<double>,
                                              const RunOptions&);

std::vector<Json> RunCells(std::span<const std::unique_ptr<CellRun>> runs,
                           std::uint64_t point_index, const RunOptions& options,
                           const std::function<void(double)>& tick) {
  const auto num_steps =
      runs.size() * (static_cast<std::size_t>(options.repetitions) + 2);
  std::size_t num_done = 0;
  const auto done = [&] {
    tick(static_cast<double>(++num_done) / static_cast<double>(num_steps));
  };
  for (const auto& run : runs) {
    run->Check();
    done();
  }
  for (int round = 0; round < options.repetitions; ++round) {
    for (const std::size_t index :
         RoundOrder(options.seed, point_index, round, runs.size())) {
      runs[index]->TimeRound(round);
      done();
    }
  }
  std::vector<Json> results;
  for (const auto& run : runs) {
    run->TimeParts();
    done();
    results.push_back(run->Result());
  }
  return results;
}

std::vector<Json> RunPoint(const AxisTable& table, const Point& point,
                           std::uint64_t point_index, const RunOptions& options,
                           const std::function<void(double)>& tick) {
  const WorkloadSpec spec = SpecOf(point, options.seed);
  LazyWorkload<float> floats(spec);
  LazyWorkload<double> doubles(spec);
  std::vector<std::unique_ptr<CellRun>> runs;
  for (const Cell& cell : point.cells) {
    runs.push_back(cell.Text("precision") == "f64"
                       ? MakeRegisteredRun(table, cell, doubles, options)
                       : MakeRegisteredRun(table, cell, floats, options));
  }
  return RunCells(runs, point_index, options, tick);
}

}  // namespace attnbench
