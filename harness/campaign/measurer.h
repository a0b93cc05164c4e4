// Lets workers (worker.h) measure points. Every cell comes back: as its worker
// gave it, or with the way in which it ended the worker.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_MEASURER_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_MEASURER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/campaign/replicates.h"
#include "harness/campaign/worker.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

inline constexpr std::int64_t kDefaultCellLimit = 3600;

struct MeasurerOptions {
  // The programs whose workers measure, process after process in turn; this one
  // where there are none. All are linked from the same objects.
  std::vector<std::string> builds;
  std::vector<MachineLimits> limits;
  std::string peer;  // the peer's command; empty for no peer
  std::int64_t peer_limit_s = 0;
  // The seconds that all steps of a cell may take together in one process: its
  // check (with the inputs, for the first cell that needs them), its rounds and
  // its draws.
  std::int64_t cell_limit_s = kDefaultCellLimit;
  // RunOptions says what these are.
  double epoch_ns = RunOptions().epoch_ns;
  std::int64_t most_draws = kMostDraws;
  // Its workers run under callgrind, and only count (instructions.h).
  bool counts_instructions = false;
};

// Throws UserError if no worker can be started from this program's own file,
// where that is to be its program.
void CheckWorkerProgram(const MeasurerOptions& options);

ProcessPlan PlanOf(const Sweep& sweep, const MeasurerOptions& options);

// Asks the worker of a program what it is; `command` starts the worker, with
// kDescribe. Throws UserError if the worker gives no answer that we understand
// within a minute, or the limit of a cell if that is less: the error has
// `name`, what it then `does`, and why.
Context ContextOf(const std::vector<std::string>& command,
                  const std::string& name, const std::string& does,
                  std::int64_t cell_limit_s);

// What one process gave of a point.
struct MeasuredPoint {
  std::vector<ResultCell> cells;  // in the point's order
  ProbedRounds rounds;
};

// This class is not thread-safe. Once the destructor returns, no worker is
// left.
class Measurer {
 public:
  // `sweep` outlives this.
  Measurer(const Sweep& sweep, MeasurerOptions options);
  ~Measurer();
  Measurer(const Measurer&) = delete;
  Measurer& operator=(const Measurer&) = delete;

  // Lets process `process` of Sweep::processes measure point `index`; each is a
  // fresh worker, which measures one point after another. `before` is what the
  // earlier ones gave (replicates.h), nothing for the first: only its cells
  // that are `ok` are measured. Gives none if the user interrupts
  // (interrupt.h). A cell that a worker does not survive becomes status `error`
  // or `timeout`, and the worker's point is measured again without it. Calls
  // `tick` now and then with the share of the point that is done. Throws
  // UserError as RunPoint does, and std::runtime_error if a worker fails
  // outside of any cell.
  std::optional<MeasuredPoint> Measure(std::size_t index, int process,
                                       std::span<const ResultCell> before,
                                       const std::function<void(double)>& tick);

  // Lets the worker end. Throws std::runtime_error if it did not end well, as
  // after a leak that a sanitizer found.
  void Finish();

 private:
  class Worker;
  struct Work;

  bool MeasureOnce(Work& work);
  std::string Program() const;
  std::string WorkerName() const;
  WorkerRequest RequestFor(const Work& work) const;
  bool BlameEnd(Work& work);

  const Sweep& sweep_;
  const MeasurerOptions options_;
  std::unique_ptr<Worker> worker_;  // null where the next point starts a worker
  int process_ = 0;                 // whose turn it is
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_MEASURER_H_
