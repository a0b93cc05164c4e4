#include "harness/campaign/in_turn.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "harness/base/error.h"
#include "harness/campaign/point_hash.h"
#include "harness/campaign/progress.h"
#include "harness/campaign/resume.h"
#include "harness/campaign/worker.h"
#include "harness/machine/load_watch.h"
#include "harness/system/child_process.h"
#include "harness/system/interrupt.h"

namespace attnbench {
namespace {

// What one program has measured so far.
class MeasuredSide {
 public:
  MeasuredSide(const Sweep& sweep, const ProgramSide& side,
               MeasurerOptions options)
      : sweep_(sweep), side_(side) {
    static_cast<Context&>(context_) =
        ContextOf({side.builds[0], kWorkerCommand, kDescribe}, side.builds[0],
                  "does not say what it is, as an attnbench since compare "
                  "--programs does",
                  options.cell_limit_s);
    watch_ = BeginWatch(context_);
    options.builds = side.builds;
    plan_ = PlanOf(sweep, options);
    measurer_ = std::make_unique<Measurer>(sweep, std::move(options));
    const WorkloadFiles files(sweep);
    context_.workload_files = files.described();
    for (const Point& point : sweep.points) {
      context_.points.push_back(PointHash(sweep, point, files, "", 1, ""));
      context_.cells_of_points.push_back(std::ssize(point.cells));
    }
    context_.processes = sweep.processes;
  }

  // The cells that the process gave; none if the user interrupts.
  std::optional<std::vector<ResultCell>> Measure(
      std::size_t i, int process, const std::function<void(double)>& tick) {
    const std::string& hash = context_.points[i];
    FinishedPoint& point = finished_.points[hash];
    auto measured = measurer_->Measure(i, process, point.cells, tick);
    if (!measured) return {};
    FinishedPoint part = PartOf(*measured, hash, process, sweep_.processes);
    part.runs = {0};
    AddProcess(part, sweep_.points[i], plan_, point);
    LookAgain(watch_, /*calibration=*/{}, context_);
    return std::move(measured->cells);
  }

  void Finish() { measurer_->Finish(); }

  ReadSweep Result() {
    finished_.runs = {RunOf(context_)};
    return {side_.name,
            AssembledResult(std::move(context_), finished_, /*not_whole=*/"")};
  }

 private:
  const Sweep& sweep_;
  const ProgramSide& side_;
  ProcessPlan plan_;
  SweepContext context_;
  LoadWatch watch_;
  std::unique_ptr<Measurer> measurer_;
  FinishedPoints finished_;
};

}  // namespace

std::optional<std::array<ReadSweep, 2>> MeasureInTurn(
    const Sweep& sweep, const std::array<ProgramSide, 2>& sides,
    const MeasurerOptions& options) {
  std::array<MeasuredSide, 2> both = {MeasuredSide(sweep, sides[0], options),
                                      MeasuredSide(sweep, sides[1], options)};
  CatchInterrupts();
  const std::vector<std::int64_t> none_done(sweep.points.size());
  Progress progress(sweep, none_done);
  for (const auto& [process, i] : progress.steps()) {
    std::vector<ResultCell> cells;
    for (const int turn : {0, 1}) {
      const auto which = static_cast<std::size_t>((process + turn) % 2);
      const auto given = both[which].Measure(
          i, process, [&](double share) { progress.Tick((turn + share) / 2); });
      if (!given) return {};
      cells.insert(cells.end(), given->begin(), given->end());
    }
    progress.FinishPoint(cells);
  }
  for (MeasuredSide& side : both) side.Finish();
  return std::array<ReadSweep, 2>{both[0].Result(), both[1].Result()};
}

}  // namespace attnbench
