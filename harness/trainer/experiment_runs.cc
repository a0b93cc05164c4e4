#include "harness/trainer/experiment_runs.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>

#include "harness/base/error.h"
#include "harness/system/interrupt.h"
#include "harness/system/result_file.h"
#include "harness/trainer/trainer.h"
#include "mechanisms/common/flush_denormals.h"

namespace attnbench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kSecondsBetweenLines = 5;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string DurationText(double seconds) {
  return seconds < 100 ? fmt::format("{:.0f} s", std::ceil(seconds))
                       : fmt::format("{:.0f} min", std::ceil(seconds / 60));
}

// "loss 0.412, error 3.2 % (hard 9.9 %), log of the selected mass -0.05"
std::string Describe(const StepReport& report,
                     const std::vector<CurvePoint>& curve) {
  std::string text = fmt::format("loss {:.3f}", report.loss);
  if (!curve.empty()) {
    const CurvePoint& last = curve.back();
    text += fmt::format(", error {:.1f} %", 100 * last.soft_error);
    if (last.hard_error) {
      text += fmt::format(" (hard {:.1f} %)", 100 * *last.hard_error);
    }
  }
  if (report.log_mass) {
    text += fmt::format(", log of the selected mass {:.2f}", *report.log_mass);
  }
  return text;
}

// The file name of a run's checkpoint in its folder.
std::string CheckpointName(const TrainingRun& run) {
  return fmt::format("{}-seed{}.json", run.name, run.seed);
}

// The result is replaced after every run, but may not be there before the first
// unless the user says so.
ResultFile OutputOf(const TrainOptions& options) {
  ResultFile(options.output, options.resume || options.force);
  return {options.output, /*may_replace=*/true};
}

class ExperimentRuns {
 public:
  ExperimentRuns(const std::vector<TrainingRun>& runs,
                 const TrainOptions& options, std::FILE* progress,
                 TrainedResult& result)
      : runs_(runs),
        options_(options),
        progress_(progress),
        result_(result),
        file_(OutputOf(options)),
        folder_(file_.target() + ".checkpoints"),
        finished_(runs.size()) {}

  void Train() {
    if (options_.resume && fs::exists(file_.target())) TakeFinished();
    fs::create_directories(folder_);
    std::vector<std::thread> threads;
    for (int n = 0; n < options_.jobs; ++n) {
      threads.emplace_back([this] { Work(); });
    }
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    WriteResult();
    if (result_.complete && !options_.keep_checkpoints) {
      fs::remove_all(folder_);
    }
  }

 private:
  // Takes the runs of the existing result.
  void TakeFinished() {
    const TrainedResult before = ReadTrainedResult(options_.output);
    for (const TrainedRun& run : before.runs) {
      const Json json = ToJson(static_cast<const TrainingRun&>(run));
      const auto same = std::ranges::find_if(
          runs_, [&](const TrainingRun& one) { return ToJson(one) == json; });
      if (same == runs_.end()) {
        throw UserError(
            options_.output,
            fmt::format("holds run {} with seed {}, of another experiment or "
                        "of other settings; --resume would drop it. Use -o for "
                        "another file, or --force",
                        run.name, run.seed));
      }
      finished_[Size(same - runs_.begin())] = run;
    }
  }

  void Work() {
    at::set_num_threads(1);
    const FlushDenormals flush;
    try {
      while (const TrainingRun* const run = NextRun()) {
        const auto trained = TrainOne(*run);
        if (!trained) return;
        const std::lock_guard lock(mutex_);
        finished_[Size(run - runs_.data())] = *trained;
        WriteResult();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  const TrainingRun* NextRun() {
    const std::lock_guard lock(mutex_);
    while (next_ < runs_.size() && finished_[next_]) ++next_;
    if (failure_ || WasInterrupted() || next_ == runs_.size()) return nullptr;
    return &runs_[next_++];
  }

  // Nothing if it was stopped.
  std::optional<TrainedRun> TrainOne(const TrainingRun& run) {
    Trainer trainer(run);
    const ResultFile file(folder_ + "/" + CheckpointName(run),
                          /*may_replace=*/true);
    TrainedRun trained;
    static_cast<TrainingRun&>(trained) = run;
    if (options_.resume && fs::exists(file.target())) {
      const Checkpoint checkpoint = ReadCheckpoint(file.target());
      trainer.Restore(checkpoint, file.target());
      trained.seconds = checkpoint.seconds;
    }
    const Clock::time_point start = Clock::now();
    const auto save = [&] {
      Checkpoint checkpoint = trainer.Save();
      checkpoint.seconds = trained.seconds + SecondsSince(start);
      file.Write(ToJson(checkpoint));
    };
    Clock::time_point saved = start, told = start;
    const Index first = trainer.step();
    while (!trainer.IsDone()) {
      const StepReport report = trainer.Step();
      if (!std::isfinite(report.loss)) {
        trained.status = "diverged";
        trained.message =
            fmt::format("the loss of step {} is {}", report.step, report.loss);
        break;
      }
      if (ShouldStop()) {
        save();
        return std::nullopt;
      }
      if (SecondsSince(saved) >= options_.checkpoint_seconds) {
        save();
        saved = Clock::now();
      }
      if (SecondsSince(told) >= kSecondsBetweenLines) {
        const auto left = static_cast<double>(run.settings.steps - report.step);
        Tell(run, report, trainer.curve(),
             SecondsSince(start) * left /
                 static_cast<double>(report.step - first));
        told = Clock::now();
      }
    }
    trained.curve = trainer.curve();
    if (trained.status == "ok") {
      trained.result = trainer.Evaluate(run.settings.held_out);
      if (options_.keep_checkpoints) save();
    }
    if (!options_.keep_checkpoints) fs::remove(file.target());
    trained.seconds += SecondsSince(start);
    TellEnd(trained);
    return trained;
  }

  bool ShouldStop() {
    const std::lock_guard lock(mutex_);
    return failure_ || WasInterrupted();
  }

  // The caller has the lock, or is alone.
  void WriteResult() {
    result_.runs.clear();
    for (const std::optional<TrainedRun>& run : finished_) {
      if (run) result_.runs.push_back(*run);
    }
    result_.complete = result_.runs.size() == runs_.size();
    file_.Write(ToJson(result_));
  }

  void Tell(const TrainingRun& run, const StepReport& report,
            const std::vector<CurvePoint>& curve, double seconds_left) const {
    Line(fmt::format("{} seed {}: step {} of {}, {}, about {} left", run.name,
                     run.seed, report.step, run.settings.steps,
                     Describe(report, curve), DurationText(seconds_left)));
  }
  void TellEnd(const TrainedRun& run) const {
    std::string text = run.message.value_or("");
    if (run.result) {
      text = fmt::format("error {:.2f} %", 100 * run.result->soft_error);
      if (run.result->hard_error) {
        text += fmt::format(", hard {:.2f} %", 100 * *run.result->hard_error);
      }
    }
    Line(fmt::format("{} seed {}: {} in {}: {}", run.name, run.seed, run.status,
                     DurationText(run.seconds), text));
  }
  void Line(const std::string& text) const {
    std::fputs((text + "\n").c_str(), progress_);
    std::fflush(progress_);
  }

  const std::vector<TrainingRun>& runs_;
  const TrainOptions& options_;
  std::FILE* const progress_;
  TrainedResult& result_;
  const ResultFile file_;
  const std::string folder_;
  std::mutex mutex_;  // of all below
  std::vector<std::optional<TrainedRun>> finished_;
  std::size_t next_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

void TrainRuns(const std::vector<TrainingRun>& runs,
               const TrainOptions& options, std::FILE* progress,
               TrainedResult& result) {
  ExperimentRuns(runs, options, progress, result).Train();
}

}  // namespace attnbench
