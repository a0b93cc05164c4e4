// Has points measured by workers (worker.h), and sees to it that every cell
// comes back: as its worker gave it, or with the way in which it ended the
// worker.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_MEASURER_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_MEASURER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/campaign/worker.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

inline constexpr std::int64_t kDefaultCellLimit = 3600;

struct MeasurerOptions {
  std::vector<MachineLimits> limits;
  std::string peer;  // the command; empty: there is none
  std::int64_t peer_limit_s = 0;
  // Seconds that all steps of a cell in one process may take together: its
  // check, with the inputs where it is the first cell to need them, its
  // rounds, its parts.
  std::int64_t cell_limit_s = kDefaultCellLimit;
};

struct MeasuredPoint {
  std::vector<ResultCell> cells;       // in the point's order
  std::vector<double> calibration_ns;  // one a round, of all processes
};

// Not thread-safe. Once the destructor returns, no worker is left.
class Measurer {
 public:
  // `sweep` outlives this.
  Measurer(const Sweep& sweep, MeasurerOptions options);
  ~Measurer();
  Measurer(const Measurer&) = delete;
  Measurer& operator=(const Measurer&) = delete;

  // Point `index` of the sweep, by Sweep::processes workers one after another;
  // none where the user interrupts (interrupt.h). A cell that a worker does not
  // survive becomes status `error` or `timeout`, and the worker's point is
  // measured again without it. `tick` hears now and then which share of the
  // point is done. Throws UserError as RunPoint does, and std::runtime_error
  // where a worker fails outside of any cell.
  std::optional<MeasuredPoint> Measure(std::size_t index,
                                       const std::function<void(double)>& tick);

  // Lets the worker end. Throws std::runtime_error where it did not end well,
  // which a sanitizer makes of a leak.
  void Finish();

 private:
  class Worker;
  struct Work;

  bool MeasureOnce(Work& work);
  WorkerRequest RequestFor(const Work& work) const;
  bool TakeEnd(Work& work);

  const Sweep& sweep_;
  const MeasurerOptions options_;
  std::unique_ptr<Worker> worker_;  // null: the next point starts one
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_MEASURER_H_
