#include "harness/trainer/experiment_runs.h"

#include <ATen/Context.h>
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
#include "harness/base/json_file.h"
#include "harness/system/interrupt.h"
#include "harness/system/result_file.h"
#include "harness/trainer/trainer.h"

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

// "loss 0.412, error 3.2 % (threshold 9.9 %), log of the selected mass -0.05"
std::string Describe(const StepReport& report,
                     const std::vector<CurvePoint>& curve) {
  std::string text = fmt::format("loss {:.3f}", report.loss);
  if (!curve.empty()) {
    const CurvePoint& last = curve.back();
    text += fmt::format(", error {:.1f} %", 100 * last.soft_error);
    if (last.hard_error) {
      text += fmt::format(" (threshold {:.1f} %)", 100 * *last.hard_error);
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

// A run with its checkpoint.
class RunInProgress {
 public:
  RunInProgress(const TrainingRun& run, const std::string& folder, bool resume)
      : trainer(run),
        file_(folder + "/" + CheckpointName(run), /*may_replace=*/true) {
    if (!resume || !fs::exists(file_.target())) return;
    const Checkpoint checkpoint = ReadCheckpoint(file_.target());
    trainer.Restore(checkpoint, file_.target());
    seconds_before_ = checkpoint.seconds;
    first_step_ = trainer.step();
  }

  void Save() const {
    Checkpoint checkpoint = trainer.Save();
    checkpoint.seconds = Seconds();
    file_.Write(ToJson(checkpoint));
  }
  void RemoveSaved() const { fs::remove(file_.target()); }

  // Of all that it has been trained.
  double Seconds() const { return seconds_before_ + SecondsSince(start_); }
  double SecondsLeft() const {
    const auto left =
        static_cast<double>(trainer.run().settings.steps - trainer.step());
    return SecondsSince(start_) * left /
           static_cast<double>(trainer.step() - first_step_);
  }

  Trainer trainer;

 private:
  const ResultFile file_;
  const Clock::time_point start_ = Clock::now();
  double seconds_before_ = 0;
  Index first_step_ = 0;
};

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
    if (options_.resume && fs::exists(file_.target())) ReadFinished();
    fs::create_directories(folder_);
    WriteResult();
    std::vector<std::thread> threads;
    for (int n = 0; n < options_.jobs; ++n) {
      threads.emplace_back([this] { Work(); });
    }
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    if (result_.complete && !options_.keep_checkpoints) {
      // What other runs left there stays.
      std::error_code is_not_empty;
      fs::remove(folder_, is_not_empty);
    }
  }

 private:
  // Takes the runs of the existing result.
  void ReadFinished() {
    const auto before =
        FromJson<TrainedResult>(ReadJsonFile(options_.output), options_.output);
    if (before.context.build_id != result_.context.build_id) {
      throw UserError(options_.output,
                      "was made by another build of the program, and --resume "
                      "would mix the two. Use -o for another file, or --force");
    }
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
    // Denormal numbers count as 0 in this thread: some CPUs take long over
    // them.
    at::globalContext().setFlushDenormal(true);
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
    RunInProgress progress(run, folder_, options_.resume);
    TrainedRun trained;
    static_cast<TrainingRun&>(trained) = run;
    try {
      if (!TrainToEnd(progress)) {
        progress.Save();
        return std::nullopt;
      }
      trained.result = progress.trainer.Evaluate(run.settings.held_out);
      // The held-out set is that of the first seed.
      if (run.seed == run.held_out_seed) {
        trained.example = progress.trainer.Example();
      }
    } catch (const Diverged& diverged) {
      trained.status = "diverged";
      trained.message = diverged.what();
    }
    trained.curve = progress.trainer.curve();
    trained.seconds = progress.Seconds();
    const StepTimes& times = progress.trainer.times();
    if (times.steps > 0) {
      trained.step_ms = 1e3 * times.seconds / static_cast<double>(times.steps);
      trained.attention_share = times.attention_seconds / times.seconds;
    }
    if (options_.keep_checkpoints && trained.result) {
      progress.Save();
    } else {
      progress.RemoveSaved();
    }
    PrintEnd(trained);
    return trained;
  }

  // Gives false if it was stopped.
  bool TrainToEnd(RunInProgress& progress) {
    Clock::time_point saved = Clock::now(), told = saved;
    while (!progress.trainer.IsDone()) {
      const StepReport report = progress.trainer.Step();
      if (ShouldStop()) return false;
      if (SecondsSince(saved) >= options_.checkpoint_seconds) {
        progress.Save();
        saved = Clock::now();
      }
      if (SecondsSince(told) >= kSecondsBetweenLines) {
        Tell(progress, report);
        told = Clock::now();
      }
    }
    return true;
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

  void Tell(const RunInProgress& progress, const StepReport& report) const {
    const TrainingRun& run = progress.trainer.run();
    Line(fmt::format("{} seed {}: step {} of {}, {}, about {} left", run.name,
                     run.seed, report.step, run.settings.steps,
                     Describe(report, progress.trainer.curve()),
                     DurationText(progress.SecondsLeft())));
  }
  void PrintEnd(const TrainedRun& run) const {
    std::string text = run.message.value_or("");
    if (run.result) {
      text = fmt::format("error {:.2f} %", 100 * run.result->soft_error);
      if (run.result->hard_error) {
        text +=
            fmt::format(", threshold {:.2f} %", 100 * *run.result->hard_error);
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
