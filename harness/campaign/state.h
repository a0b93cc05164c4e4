// How far a sweep is: which of its points are finished, by how many processes,
// and which are to be measured again. Measures nothing and tells nothing.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_STATE_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_STATE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/campaign/resume.h"
#include "harness/sweep/shard.h"

namespace attnbench {

// The points to measure again: those that somebody has edited, those with a
// cell that hit a lower limit than today's, and those with a cell in error, as
// what ended it (a lack of memory, a kill) may be over. What the gate refused
// would be refused again.
struct Unfinished {
  std::set<std::string> points;  // their hashes
  std::size_t num_timeouts = 0, num_errors = 0;
};

class SweepState {
 public:
  // `hashes` are those of the sweep's points, which outlives this. Only those
  // of the shard are wanted.
  SweepState(const Sweep& sweep, std::vector<std::string> hashes,
             const std::optional<Shard>& shard, const ProcessPlan& plan,
             std::vector<MachineLimits> limits);

  const std::vector<std::string>& hashes() const { return hashes_; }
  const std::vector<std::size_t>& wanted() const { return wanted_; }
  const Finished& finished() const { return finished_; }
  std::vector<MachineLimits>& limits() { return finished_.limits; }

  // Takes what an earlier run has finished (resume.h). Throws UserError also
  // where a cell of a finished point is none of those planned.
  void AddFinished(const SweepResult& result, const std::string& path,
                   const SweepContext& context);
  void AddFinished(const JournalContents& journal, const std::string& path,
                   const SweepContext& context);

  // Begins a run. Its entry is replaced as it goes on.
  void BeginRun(MeasuringRun run) { finished_.runs.push_back(std::move(run)); }
  void ReplaceRun(MeasuringRun run) { finished_.runs.back() = std::move(run); }
  // Adds what a process of this run gave of point i, the first one anew.
  void Add(std::size_t i, int process, FinishedPoint part);

  // How many processes have measured point i.
  std::int64_t Processes(std::size_t i) const;
  // The cells of point i that earlier processes gave.
  std::span<const ResultCell> CellsOf(std::size_t i) const;
  // The points that not all processes have measured.
  std::vector<std::size_t> Left() const;
  Unfinished FindUnfinished(const MeasurerOptions& now) const;
  // Points of these hashes are to be measured again. They stay until the first
  // process has done so, as an interrupted run has nothing better.
  void MeasureAgain(std::set<std::string> hashes) {
    again_ = std::move(hashes);
  }

  std::vector<Calibration> CalibrationOfPoints() const;
  // The result of what is there, in the context of the first run. `own` is this
  // run's, and `own_run` its entry where no other run measured anything.
  SweepResult Result(const SweepContext& own,
                     const MeasuringRun& own_run) const;

 private:
  const FinishedPoint* Find(std::size_t i) const;
  // Whether point i is there, with all of its cells.
  bool IsComplete(std::size_t i) const;
  // Whether a cell of point i hit a limit that is higher now.
  bool HasMoreTime(std::size_t i, const MeasurerOptions& now) const;
  void CheckFinished(const std::string& path) const;
  WantedPoints Wanted() const;

  const Sweep& sweep_;
  const std::vector<std::string> hashes_;
  const std::vector<std::size_t> wanted_;
  const std::optional<Shard> shard_;
  const ProcessPlan plan_;
  Finished finished_;
  std::set<std::string> again_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_STATE_H_
