#include "harness/campaign/worker.h"

#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <iostream>
#include <memory>
#include <vector>

#include "harness/base/arrays.h"
#include "harness/base/error.h"
#include "harness/machine/calibration.h"
#include "harness/peer/peer.h"
#include "mechanisms/common/array.h"

namespace attnbench {
namespace {

constexpr double kAnswerLimit = 60;  // seconds in which an answer is written

void SetAlarm(double seconds) {
  itimerval timer{};
  const double whole = std::floor(seconds);
  timer.it_value.tv_sec = static_cast<time_t>(whole);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - whole) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

// Follows the steps of a point: reports them, and holds each cell to its limit.
class Watch {
 public:
  Watch(std::size_t num_cells, double limit_s)
      : limit_s_(limit_s), used_s_(num_cells) {}
  ~Watch() {
    SetAlarm(0);
    step_.deadline_s = SteadySeconds() + kAnswerLimit;
    Report();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void Begin(std::size_t cell, double share) {
    const double now_s = SteadySeconds();
    if (step_.cell >= 0) {
      used_s_[static_cast<std::size_t>(step_.cell)] += now_s - begin_s_;
    }
    begin_s_ = now_s;
    // The time left is never 0, which would mean no alarm.
    const double left_s = std::max(limit_s_ - used_s_[cell], 1e-6);
    step_ = {static_cast<std::int64_t>(cell), share, now_s + left_s};
    Report();
    SetAlarm(left_s);
  }

 private:
  // A failed write is ignored: nobody may be there to read it.
  void Report() const {
    [[maybe_unused]] const ssize_t written =
        pwrite(kStepDescriptor, &step_, sizeof(step_), 0);
  }

  const double limit_s_;
  std::vector<double> used_s_;  // the time of each cell's steps so far
  WorkerStep step_;
  double begin_s_ = 0;
};

// The worker's end of the pipe; it answers one request after another.
class PointServer {
 public:
  explicit PointServer(const std::string& counts) {
    if (!counts.empty()) counter_.emplace(counts);
  }

  WorkerAnswer Answer(const std::string& line) {
    WorkerAnswer answer;
    try {
      Measure(FromJson<WorkerRequest>(Json::parse(line), "request"), answer);
    } catch (const UserError& error) {
      answer.wrong_input = error.what();
    } catch (const std::exception& error) {
      answer.failed = error.what();
    }
    return answer;
  }

 private:
  void Measure(const WorkerRequest& request, WorkerAnswer& answer) {
    RunOptions options;
    options.seed = request.seed;
    options.repetitions = request.repetitions;
    options.first_round = request.first_round;
    options.trials = request.trials;
    options.epoch_ns = request.epoch_ns;
    options.most_draws = request.most_draws;
    options.limits = request.limits;
    options.peer = PeerFor(request);
    ArrayGaps gaps{.seed = request.seed,
                   .process = static_cast<std::uint32_t>(request.first_round)};
    options.gaps = &gaps;
    // They are made when the first round begins, in a step of a cell.
    Probing probing{.probe = [this] {
      if (!probes_) probes_.emplace();
      return probes_->Time();
    }};
    if (counter_) {
      options.counter = &*counter_;
      options.repetitions = 0;
    } else {
      options.probing = &probing;
    }
    Watch watch(request.cells.size(), request.cell_limit_s);
    const Point point = {request.axes,
                         {request.cells.begin(), request.cells.end()}};
    for (ResultCell& cell :
         RunPoint(point, options, [&watch](std::size_t index, double share) {
           watch.Begin(index, share);
         })) {
      answer.cells.push_back({std::move(cell)});
    }
    answer.rounds = std::move(probing.rounds);
  }

  // Starts the peer only if a cell needs it, because that may take seconds.
  Peer* PeerFor(const WorkerRequest& request) {
    const auto& cells = request.cells;
    const bool is_wanted = std::any_of(
        cells.begin(), cells.end(),
        [](const Cell& cell) { return cell.is_peers && !cell.skip_reason; });
    if (!is_wanted) return nullptr;
    if (peer_ == nullptr) {
      peer_ = std::make_unique<Peer>(
          request.peer, std::chrono::seconds(request.peer_limit_s));
    }
    return peer_.get();
  }

  std::optional<InstructionCounter> counter_;
  std::unique_ptr<Peer> peer_;
  std::optional<Probes> probes_;  // made when the first point is measured
};

}  // namespace

double SteadySeconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

void ServeWorker(const std::string& counts) {
  // Whoever started us may have ignored it, or blocked it.
  std::signal(SIGALRM, SIG_DFL);
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  sigprocmask(SIG_UNBLOCK, &alarm, nullptr);
  KeepFreedArrays();
  PointServer server(counts);
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << ToJson(server.Answer(line)).dump() << std::endl;
  }
}

}  // namespace attnbench
