// The process that measures. The program runs itself anew for it: a mechanism
// that crashes or hangs costs its cell and no other, and a fresh process has
// its code and its pages at other addresses, which moves times more than noise
// does (--processes). A worker measures one point after another, so starting it
// is paid once; a peer (peer.h) is started by the worker that needs it.
//
// It reads a WorkerRequest a line and answers each by a line:
//
//   {"cells": [cell of the result], "calibration_ns": [samples]}
//   {"wrong_input": text}   a UserError
//   {"failed": text}        a bug
//
// Between these it says nothing, as whoever reads a message takes a core away
// from what is timed. The cell at hand stands in a file that both have open
// (WorkerStep), and the time limit of a cell is an alarm of the worker's own:
// SIGALRM ends it.
#ifndef ATTNBENCH_HARNESS_WORKER_H_
#define ATTNBENCH_HARNESS_WORKER_H_

#include <cstdint>
#include <string>

#include "harness/runner.h"
#include "harness/sweep.h"

namespace attnbench {

// The name of the command that is a worker.
inline constexpr char kWorkerCommand[] = "measure-points";

struct WorkerRequest {
  Point point;
  std::uint64_t seed = 1;
  int repetitions = 1;
  int trials = 1;
  Json limits = Json::array();  // as in the context of a result
  std::string peer;             // the command; empty: there is none
  std::int64_t peer_limit_s = 0;
  double cell_limit_s = 0;
};

Json ToJson(const WorkerRequest& request);
WorkerRequest ParseWorkerRequest(const Json& json);

// What the worker is doing, at the start of the file that it has as number 3.
struct WorkerStep {
  std::int64_t cell = -1;  // of the request's point; -1: none yet
  double share = 0;        // of the point
};
inline constexpr int kStepDescriptor = 3;

// Answers requests from standard input until it ends.
void ServeWorker();

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_WORKER_H_
