// The process that measures. The program runs itself anew for it: a mechanism
// that crashes or hangs costs its cell and no other, and a fresh process has
// its code and its pages at other addresses, which moves times more than noise
// does (--processes). A worker measures one point after another, so starting it
// is paid once; a peer (peer.h) is started by the worker that needs it.
//
// It reads a WorkerRequest a line and answers each by a line, a WorkerAnswer.
//
// Between these it says nothing, as whoever reads a message takes a core away
// from what is timed. The cell at hand stands in a file that both have open
// (WorkerStep), and the time limit of a cell is an alarm of the worker's own:
// SIGALRM ends it.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_WORKER_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_WORKER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/measure/point_runner.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

// The name of the command that is a worker.
inline constexpr char kWorkerCommand[] = "measure-points";

// A cell as the worker is asked for it. (A Cell is one of the sweep's own.)
struct AskedCell : Cell {
  static void Fields(auto& self, auto& visit) {
    visit("mechanism", self.mechanism);
    visit("axes", self.axes);
    visit("options", self.options);
    visit("is_peers", self.is_peers);
    visit("peer_approximates", self.peer_approximates);
    visit("skip_reason", self.skip_reason);
    visit("trials_per_sample", self.trials_per_sample);
  }
};

struct WorkerRequest {
  AxisMap axes;  // of the point
  std::vector<AskedCell> cells;
  std::uint64_t seed = 1;
  int repetitions = 1;
  int trials = 1;
  std::vector<MachineLimits> limits;
  std::string peer;  // the command; empty: there is none
  std::int64_t peer_limit_s = 0;
  double cell_limit_s = 0;

  static void Fields(auto& self, auto& visit) {
    visit("axes", self.axes);
    visit("cells", self.cells);
    visit("seed", self.seed);
    visit("repetitions", self.repetitions);
    visit("trials", self.trials);
    visit("limits", self.limits);
    visit("peer", self.peer);
    visit("peer_limit_s", self.peer_limit_s);
    visit("cell_limit_s", self.cell_limit_s);
  }
};

// A cell as the worker gives it: which point of the sweep it is of, the worker
// does not know.
struct MeasuredCell : ResultCell {
  static void Fields(auto& self, auto& visit) {
    const auto without_point = [&](const char* name, auto& member,
                                   const Rule& rule = {}) {
      if (std::string_view(name) != "point") visit(name, member, rule);
    };
    ResultCell::Fields(self, without_point);
  }
};

struct WorkerAnswer {
  std::vector<MeasuredCell> cells;         // those of the request
  std::vector<double> calibration_ns;      // one a round
  std::optional<std::string> wrong_input;  // a UserError
  std::optional<std::string> failed;       // a bug

  static void Fields(auto& self, auto& visit) {
    visit("cells", self.cells);
    visit("calibration_ns", self.calibration_ns);
    visit("wrong_input", self.wrong_input);
    visit("failed", self.failed);
  }
};

// What the worker is doing, at the start of the file that it has as number 3.
struct WorkerStep {
  std::int64_t cell = -1;  // of the request's point; -1: none yet
  double share = 0;        // of the point
};
inline constexpr int kStepDescriptor = 3;

// Answers requests from standard input until it ends.
void ServeWorker();

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_WORKER_H_
