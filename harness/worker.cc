#include "harness/worker.h"

#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <iostream>
#include <memory>
#include <vector>

#include "harness/error.h"
#include "harness/peer.h"
#include "harness/roofline.h"

namespace attnbench {
namespace {

Json CellToJson(const Cell& cell) {
  return {{"mechanism", cell.mechanism},
          {"axes", cell.axes},
          {"options", OptionsJson(cell)},
          {"is_peers", cell.is_peers},
          {"peer_approximates", cell.peer_approximates},
          {"skip_reason",
           cell.skip_reason ? Json(*cell.skip_reason) : Json(nullptr)},
          {"trials_per_sample", cell.trials_per_sample}};
}

OptionValue OptionFromJson(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_float()) return value.get<double>();
  if (value.is_number()) return value.get<std::int64_t>();
  return value.get<std::string>();
}

Cell CellFromJson(const Json& json) {
  Cell cell;
  cell.mechanism = json.at("mechanism");
  cell.axes = json.at("axes");
  for (const auto& [name, value] : json.at("options").items()) {
    cell.options[name] = OptionFromJson(value);
  }
  cell.is_peers = json.at("is_peers");
  cell.peer_approximates = json.at("peer_approximates");
  if (!json.at("skip_reason").is_null()) {
    cell.skip_reason = json.at("skip_reason").get<std::string>();
  }
  cell.trials_per_sample = json.at("trials_per_sample");
  return cell;
}

void SetAlarm(double seconds) {
  itimerval timer{};
  const double whole = std::floor(seconds);
  timer.it_value.tv_sec = static_cast<time_t>(whole);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - whole) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

// Follows the steps of a point: tells them, and holds each cell to its limit.
class Watch {
 public:
  Watch(std::size_t num_cells, double limit_s)
      : limit_s_(limit_s), used_s_(num_cells) {}
  ~Watch() { SetAlarm(0); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void Begin(std::size_t cell, double share) {
    const Clock::time_point now = Clock::now();
    if (step_.cell >= 0) {
      used_s_[static_cast<std::size_t>(step_.cell)] +=
          std::chrono::duration<double>(now - begin_).count();
    }
    begin_ = now;
    step_ = {static_cast<std::int64_t>(cell), share};
    // Nobody there to read it is no reason not to measure.
    [[maybe_unused]] const ssize_t written =
        pwrite(kStepDescriptor, &step_, sizeof(step_), 0);
    // Zero would be no alarm at all.
    SetAlarm(std::max(limit_s_ - used_s_[cell], 1e-6));
  }

 private:
  using Clock = std::chrono::steady_clock;

  const double limit_s_;
  std::vector<double> used_s_;  // by each cell, in its steps so far
  WorkerStep step_;
  Clock::time_point begin_;
};

// The far end: answers one request after another.
class PointServer {
 public:
  Json Answer(const std::string& line) {
    try {
      return Measure(ParseWorkerRequest(Json::parse(line)));
    } catch (const UserError& error) {
      return {{"wrong_input", error.what()}};
    } catch (const std::exception& error) {
      return {{"failed", error.what()}};
    }
  }

 private:
  Json Measure(const WorkerRequest& request) {
    std::vector<MachineLimits> limits;
    for (const Json& one : request.limits) limits.push_back(LimitsOf(one));
    std::vector<double> calibration_ns;
    RunOptions options;
    options.seed = request.seed;
    options.repetitions = request.repetitions;
    options.trials = request.trials;
    options.limits = limits;
    options.peer = PeerFor(request);
    options.calibration_ns = &calibration_ns;
    Watch watch(request.point.cells.size(), request.cell_limit_s);
    Json cells = RunPoint(
        StandardAxes(), request.point, options,
        [&watch](std::size_t cell, double share) { watch.Begin(cell, share); });
    return {{"cells", std::move(cells)}, {"calibration_ns", calibration_ns}};
  }

  // Starting one may take seconds: only where a cell wants it.
  Peer* PeerFor(const WorkerRequest& request) {
    const auto& cells = request.point.cells;
    const bool is_wanted = std::any_of(
        cells.begin(), cells.end(),
        [](const Cell& cell) { return cell.is_peers && !cell.skip_reason; });
    if (!is_wanted) return nullptr;
    if (peer_ == nullptr) {
      peer_ = std::make_unique<Peer>(request.peer,
                                     std::chrono::seconds(request.peer_limit_s),
                                     StandardAxes());
    }
    return peer_.get();
  }

  std::unique_ptr<Peer> peer_;
};

}  // namespace

Json ToJson(const WorkerRequest& request) {
  Json cells = Json::array();
  for (const Cell& cell : request.point.cells) {
    cells.push_back(CellToJson(cell));
  }
  return {{"axes", request.point.axes},
          {"cells", std::move(cells)},
          {"seed", request.seed},
          {"repetitions", request.repetitions},
          {"trials", request.trials},
          {"limits", request.limits},
          {"peer", request.peer},
          {"peer_limit_s", request.peer_limit_s},
          {"cell_limit_s", request.cell_limit_s}};
}

WorkerRequest ParseWorkerRequest(const Json& json) {
  WorkerRequest request;
  request.point.axes = json.at("axes");
  for (const Json& cell : json.at("cells")) {
    request.point.cells.push_back(CellFromJson(cell));
  }
  request.seed = json.at("seed");
  request.repetitions = json.at("repetitions");
  request.trials = json.at("trials");
  request.limits = json.at("limits");
  request.peer = json.at("peer");
  request.peer_limit_s = json.at("peer_limit_s");
  request.cell_limit_s = json.at("cell_limit_s");
  return request;
}

void ServeWorker() {
  std::signal(SIGALRM, SIG_DFL);  // whoever started us may have ignored it
  PointServer server;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << server.Answer(line).dump() << std::endl;
  }
}

}  // namespace attnbench
