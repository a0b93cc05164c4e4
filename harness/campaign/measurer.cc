#include "harness/campaign/measurer.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <thread>
#include <utility>

#include "harness/base/error.h"
#include "harness/campaign/worker.h"
#include "harness/measure/instructions.h"
#include "harness/measure/point_runner.h"
#include "harness/system/child_process.h"
#include "harness/system/interrupt.h"
#include "harness/system/source_tree.h"
#include "harness/system/temporary_folder.h"
#include "mechanisms/kernels/kernels.h"

namespace attnbench {
namespace {

// A waiting program looks up this often: for the bar, and for an interrupt.
constexpr std::chrono::milliseconds kLookUp{100};
constexpr std::chrono::minutes kSendLimit{1};
constexpr char kOurselves[] = "/proc/self/exe";
// A worker that is not stopped ends itself sooner.
constexpr double kAlarmDelay = 1;  // seconds
// Another program may ignore the alarm.
constexpr double kKillDelay = 3;  // seconds
// A worker begins its first cell sooner, with all that it reads before.
constexpr double kBeginLimit = 600;  // seconds
// A worker that should end may have to wait for its peer, and kill it.
constexpr std::chrono::seconds kWorkerFarewell{20};
// No answer is longer, in bytes: its numbers are the samples of a point.
constexpr std::size_t kLongestAnswer = std::size_t{1} << 28;
// The signal that ends a worker may come so long before ours.
constexpr std::chrono::seconds kSignalDelay{1};
constexpr std::int64_t kDescribeLimit = 60;  // seconds

// The seconds that a worker has until it begins a cell. It may have to start a
// peer before.
double BeginLimit(const MeasurerOptions& options) {
  return std::min(static_cast<double>(options.cell_limit_s), kBeginLimit) +
         static_cast<double>(options.peer_limit_s);
}

// The file in which a worker says what it is doing.
class StepFile {
 public:
  StepFile() : descriptor_(memfd_create("attnbench-step", MFD_CLOEXEC)) {
    if (descriptor_ < 0) {
      throw UserError("a worker",
                      std::string("could not be started: memfd_create: ") +
                          std::strerror(errno));
    }
    Write({});
  }
  ~StepFile() { close(descriptor_); }
  StepFile(const StepFile&) = delete;
  StepFile& operator=(const StepFile&) = delete;

  int descriptor() const { return descriptor_; }
  void Write(const WorkerStep& step) const {
    [[maybe_unused]] const ssize_t written =
        pwrite(descriptor_, &step, sizeof(step), 0);
  }
  WorkerStep Read() const {
    WorkerStep step;
    const ssize_t count = pread(descriptor_, &step, sizeof(step), 0);
    return count == sizeof(step) ? step : WorkerStep();
  }

 private:
  const int descriptor_;
};

}  // namespace

// Our end of a worker process.
class Measurer::Worker {
 public:
  // The peer's files lie in our folder, so they go however the worker ends.
  Worker(const std::string& program, bool counts_instructions)
      : process_(CommandFor(program, counts_instructions,
                            step_file_.descriptor(), folder_.path())) {}

  void Send(const WorkerRequest& request, double begin_limit_s) {
    // A cell has its limit as it begins.
    step_file_.Write({.deadline_s = SteadySeconds() + begin_limit_s});
    process_.Send(ToJson(request).dump() + "\n",
                  ChildProcess::Clock::now() + kSendLimit);
  }
  // The next line; none where it is not there yet or the worker has ended.
  std::optional<std::string> Wait() {
    return process_.ReadLine(ChildProcess::Clock::now() + kLookUp);
  }
  WorkerStep Step() const { return step_file_.Read(); }
  // Ends a worker that its own alarm did not end.
  void EndIfLate() {
    const double late_s = SteadySeconds() - Step().deadline_s;
    if (late_s > kKillDelay) {
      process_.Kill();
      is_killed_ = true;
    } else if (late_s > kAlarmDelay) {
      process_.End(SIGALRM);
    }
  }
  // Whether nothing more will come: its end may be unseen where a process that
  // it has started holds its output open.
  bool HasEnded() const { return is_killed_ || process_.HasEnded(); }
  bool is_killed() const { return is_killed_; }
  ChildProcess& process() { return process_; }

 private:
  static ChildProcess::Command CommandFor(const std::string& program,
                                          bool counts_instructions, int step,
                                          const std::string& folder) {
    std::vector<std::string> command = {program, "--simd", SimdName(),
                                        kWorkerCommand};
    if (counts_instructions) {
      const std::string counts = folder + "/counts";
      // The path lies on stack and heap, so one of another length moves what
      // lies behind it, and with that the counts of the same program.
      command[0] = folder + "/attnbench";
      std::filesystem::create_symlink(program, command[0]);
      command.insert(command.end(), {kCounts, counts});
      command = UnderCallgrind(counts, std::move(command));
    }
    return {.arguments = std::move(command),
            // OpenBLAS would start threads before the worker can keep it from
            // that, and sends SIGINT where the system gives none.
            .environment =
                EnvironmentWith({"TMPDIR=" + folder, "OPENBLAS_NUM_THREADS=1"}),
            .longest_line = kLongestAnswer,
            .third = step,
            .echo_errors = true,
            .farewell = kWorkerFarewell};
  }

  const StepFile step_file_;
  const TemporaryFolder folder_;
  ChildProcess process_;
  bool is_killed_ = false;
};

// The state of a point while a process measures it.
struct Measurer::Work {
  const Point& point;
  const std::function<void(double)>& tick;
  // The cells of the point that the process is to measure, and what it gave.
  std::vector<Cell> asked = {};
  std::vector<std::optional<ResultCell>> cells = {};
  ProbedRounds rounds = {};
  bool has_lost_worker = false;  // one has ended before it measured anything

  // The cells that are not measured yet, by their places in `asked`.
  std::vector<std::size_t> Left() const {
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!cells[i]) left.push_back(i);
    }
    return left;
  }
};

void CheckWorkerProgram(const MeasurerOptions& options) {
  if (!options.builds.empty() || access(kOurselves, X_OK) == 0) return;
  throw UserError(kOurselves,
                  fmt::format("cannot be run: {}; workers are started from "
                              "there, so mount /proc",
                              std::strerror(errno)));
}

ProcessPlan PlanOf(const Sweep& sweep, const MeasurerOptions& options) {
  return {sweep.processes,
          std::max<std::int64_t>(1, std::ssize(options.builds))};
}

Context ContextOf(const std::vector<std::string>& command,
                  const std::string& name, const std::string& does,
                  std::int64_t cell_limit_s) {
  const std::chrono::seconds limit(std::min(kDescribeLimit, cell_limit_s));
  ChildProcess process(
      {.arguments = command, .environment = EnvironmentWith({})});
  const auto line = process.ReadLine(ChildProcess::Clock::now() + limit);
  const bool is_late = !line && !process.HasEnded();
  if (is_late) process.Kill();
  const ProcessEnd end = process.Stop();
  const Json json = line ? ParseMessage(*line) : Json();
  if (!json.is_object() || !json.contains("context")) {
    const std::string words = process.LastWords();
    throw UserError(
        name, fmt::format("{} ({}{}{})", does,
                          is_late ? fmt::format("gave no answer within {} s",
                                                limit.count())
                          : end.IsGood() || line ? "it wrote something else"
                                                 : end.Text(),
                          words.empty() ? "" : ": ", words));
  }
  // Older programs write a member more.
  return FromJson<Context>(json.at("context"), name);
}

Measurer::Measurer(const Sweep& sweep, MeasurerOptions options)
    : sweep_(sweep), options_(std::move(options)) {}

Measurer::~Measurer() {
  if (worker_ != nullptr) worker_->process().Kill();
}

void Measurer::Finish() {
  if (worker_ == nullptr) return;
  const ProcessEnd end = worker_->process().Stop();
  worker_.reset();
  // One that stays has answered for every point all the same.
  if (end.IsGood() || end.lingered.count() > 0) return;
  throw std::runtime_error("a worker " + end.Text() + " when all was measured");
}

std::string Measurer::Program() const {
  const std::vector<std::string>& builds = options_.builds;
  if (builds.empty()) {
    // Under valgrind kOurselves would be valgrind.
    return options_.counts_instructions ? ProgramPath().string() : kOurselves;
  }
  return builds[static_cast<std::size_t>(process_) % builds.size()];
}

// What an error calls the worker.
std::string Measurer::WorkerName() const {
  return options_.builds.empty() ? "a worker" : Program();
}

WorkerRequest Measurer::RequestFor(const Work& work) const {
  WorkerRequest request = {
      .axes = work.point.axes,
      .cells = {},
      .seed = sweep_.seed,
      .repetitions = sweep_.repetitions,
      .first_round = process_ * sweep_.repetitions,
      .trials = sweep_.trials,
      .limits = options_.limits,
      .peer = options_.peer,
      .peer_limit_s = options_.peer_limit_s,
      .cell_limit_s = static_cast<double>(options_.cell_limit_s),
      .epoch_ns = options_.epoch_ns,
      .most_draws = options_.most_draws};
  for (const std::size_t i : work.Left())
    request.cells.push_back(work.asked[i]);
  return request;
}

// The worker has ended. The cell that it measured is to blame, unless this
// gives false: then somebody ends the whole run.
bool Measurer::BlameEnd(Work& work) {
  const WorkerStep step = worker_->Step();
  const bool is_killed = worker_->is_killed();
  const ProcessEnd end = worker_->process().Stop();
  const std::string words = worker_->process().LastWords();
  worker_.reset();
  if (WasInterrupted()) return false;
  if (end.Signal() == SIGTERM || end.Signal() == SIGINT) {
    // A scheduler that ends a job sends the signal to all of its processes.
    std::this_thread::sleep_for(kSignalDelay);
    if (WasInterrupted()) return false;
  }
  const bool is_timeout = is_killed || end.Signal() == SIGALRM;
  const std::vector<std::size_t> left = work.Left();
  if (step.cell < 0 && is_timeout) {
    throw UserError(WorkerName(),
                    fmt::format("did not begin to measure within {} s",
                                BeginLimit(options_)));
  }
  if (step.cell < 0 || step.cell >= static_cast<std::int64_t>(left.size())) {
    // Somebody killed it between two points: no cell is to blame.
    if (!std::exchange(work.has_lost_worker, true)) return true;
    const std::string text =
        fmt::format("{} before it measured anything{}{}", end.Text(),
                    words.empty() ? "" : ": ", words);
    if (!options_.builds.empty()) throw UserError(Program(), text);
    throw std::runtime_error("a worker " + text);
  }
  const std::size_t index = left[static_cast<std::size_t>(step.cell)];
  std::string message =
      is_timeout ? fmt::format("was not finished after {} s (--cell-limit)",
                               options_.cell_limit_s)
                 : "its process " + end.Text();
  if (!is_timeout && !words.empty()) message += ": " + words;
  work.cells[index] = FailedCell(
      work.asked[index], is_timeout ? CellStatus::kTimeout : CellStatus::kError,
      message);
  return true;
}

// Lets the current process measure what is left of the point; false if the user
// interrupts.
bool Measurer::MeasureOnce(Work& work) {
  for (auto left = work.Left(); !left.empty(); left = work.Left()) {
    if (worker_ == nullptr) {
      worker_ =
          std::make_unique<Worker>(Program(), options_.counts_instructions);
    }
    worker_->Send(RequestFor(work), BeginLimit(options_));
    std::optional<std::string> line;
    while (!line && !worker_->HasEnded()) {
      if (WasInterrupted()) return false;
      line = worker_->Wait();
      if (!line) worker_->EndIfLate();
      work.tick(worker_->Step().share);
    }
    if (!line) {
      if (!BlameEnd(work)) return false;
      continue;
    }
    const Json json = ParseMessage(*line);
    if (!json.is_object()) {
      throw UserError(WorkerName(),
                      fmt::format("answered '{}', which is no object of JSON",
                                  Shown(*line)));
    }
    auto answer = FromJson<WorkerAnswer>(json, WorkerName());
    if (answer.wrong_input) throw UserError(*answer.wrong_input);
    if (answer.failed && options_.builds.empty()) {
      throw std::runtime_error(*answer.failed);
    }
    if (answer.failed) throw UserError(WorkerName(), *answer.failed);
    if (answer.cells.size() != left.size()) {
      throw UserError(WorkerName(), "did not answer for every cell");
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
      work.cells[left[i]] = std::move(answer.cells.at(i));
    }
    work.rounds.times.insert(work.rounds.times.end(),
                             answer.rounds.times.begin(),
                             answer.rounds.times.end());
    work.rounds.again += answer.rounds.again;
  }
  return true;
}

std::optional<MeasuredPoint> Measurer::Measure(
    std::size_t index, int process, std::span<const ResultCell> before,
    const std::function<void(double)>& tick) {
  if (process != process_) Finish();
  process_ = process;
  const Point& point = sweep_.points.at(index);
  Work work{.point = point, .tick = tick};
  for (std::size_t i = 0; i < point.cells.size(); ++i) {
    Cell cell = point.cells[i];
    if (process > 0) {
      if (!before[i].is_ok()) continue;
      cell.replicate = Replicate{*before[i].trials_per_sample};
    }
    work.asked.push_back(std::move(cell));
  }
  work.cells.resize(work.asked.size());
  if (!MeasureOnce(work)) return std::nullopt;
  MeasuredPoint measured{{}, std::move(work.rounds)};
  for (std::optional<ResultCell>& cell : work.cells) {
    measured.cells.push_back(*std::move(cell));
  }
  return measured;
}

}  // namespace attnbench
