// The process that measures. The program runs itself anew for it: a mechanism
// that crashes or hangs costs its cell and no other, and a fresh process has
// its code and its pages at other addresses, which moves times more than noise
// does (--processes). A worker measures one point after another, so starting it
// is paid once; a peer (peer.h) is started by the worker that needs it.
//
// It reads a WorkerRequest a line and answers each by a line, a WorkerAnswer.
//
// Between these it says nothing, as whoever reads a message takes a core away
// from what is timed. It writes the current cell to a file that both have open
// (WorkerStep). The time limit of a cell is the worker's own alarm: SIGALRM
// ends it. A worker that somebody has stopped gets it from us.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_WORKER_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_WORKER_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "harness/measure/point_runner.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

// The name of the command that is a worker.
inline constexpr char kWorkerCommand[] = "measure-points";
// With this option it only says what it is (WorkerDescription).
inline constexpr char kDescribe[] = "--describe";
// With this one it counts instructions; UnderCallgrind says what its value is.
inline constexpr char kCounts[] = "--counts";

struct WorkerRequest {
  AxisMap axes;  // the axes of the point
  std::vector<Cell> cells;
  std::uint64_t seed = 1;
  int repetitions = 1;
  int first_round = 0;
  int trials = 1;
  std::vector<MachineLimits> limits;
  std::string peer;  // the peer's command; empty for no peer
  std::int64_t peer_limit_s = 0;
  double cell_limit_s = 0;
  double epoch_ns = RunOptions().epoch_ns;
  std::int64_t most_draws = kMostDraws;

  static void Fields(auto& self, auto& visit) {
    visit("axes", self.axes);
    visit("cells", self.cells);
    visit("seed", self.seed);
    visit("repetitions", self.repetitions);
    visit("first_round", self.first_round);
    visit("trials", self.trials);
    visit("limits", self.limits);
    visit("peer", self.peer);
    visit("peer_limit_s", self.peer_limit_s);
    visit("cell_limit_s", self.cell_limit_s);
    visit("epoch_ns", self.epoch_ns);
    visit("most_draws", self.most_draws);
  }
};

// A cell in the worker's answer. The worker does not know its point in the
// sweep.
struct MeasuredCell : ResultCell {
  std::optional<double> gate_ns = {};  // older programs write it

  static void Fields(auto& self, auto& visit) {
    const auto without_point = [&](const char* name, auto& member,
                                   const Rule& rule = {}) {
      if (std::string_view(name) != "point") visit(name, member, rule);
    };
    ResultCell::Fields(self, without_point);
    visit("gate_ns", self.gate_ns, Rule{.absent_if_unset = true});
  }
};

struct WorkerAnswer {
  std::vector<MeasuredCell> cells;  // the cells of the request
  ProbedRounds rounds;
  std::optional<std::string> wrong_input;  // the text of a UserError
  std::optional<std::string> failed;       // another exception, a bug

  static void Fields(auto& self, auto& visit) {
    visit("cells", self.cells);
    visit("rounds", self.rounds);
    visit("wrong_input", self.wrong_input);
    visit("failed", self.failed);
  }
};

// A worker's program describes itself, so that another program can let it
// measure. Whether it understands ours shows in its answers, which are read
// strictly.
struct WorkerDescription {
  Context context;

  static void Fields(auto& self, auto& visit) {
    visit("context", self.context);
  }
};

// The worker's current step. It stands at the start of the worker's file number
// 3.
struct WorkerStep {
  std::int64_t cell = -1;  // index in the request's point; -1: none yet
  double share = 0;        // the share of the point that is done
  // The worker is ended where SteadySeconds is later.
  double deadline_s = std::numeric_limits<double>::infinity();
};

// The time of the steady clock, which all processes of a machine share.
double SteadySeconds();
inline constexpr int kStepDescriptor = 3;

// Answers requests from standard input until it ends. `counts` is the value of
// kCounts; empty: it times.
void ServeWorker(const std::string& counts);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_WORKER_H_
