// Reads what an earlier run has finished of a sweep from its journal, its
// result, or both. All are pure functions.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_RESUME_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_RESUME_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/campaign/journal.h"
#include "harness/campaign/measurer.h"
#include "harness/campaign/replicates.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

// What process `process` of `processes` measured of the point with this hash.
FinishedPoint PartOf(const MeasuredPoint& measured, const std::string& hash,
                     int process, std::int64_t processes);

struct Finished : FinishedPoints {
  std::optional<SweepContext> context;  // of the first run
  std::vector<MachineLimits> limits;    // the machine's limits
  std::set<std::string> others;  // points that are there but may not be taken
  std::string difference;  // how machines differ, if that is why: "cpu was ..."
};

bool HasPoints(const JournalContents& journal);

// Whether the journal's points continue those of the result.
bool ContinuesResult(const JournalContents& journal);

// The points of a sweep, by their hashes.
using WantedPoints = std::map<std::string, const Point*>;

// Takes points that are `wanted` from a result, and from a journal, into
// `finished`. Nothing is taken where the machine or its settings are not those
// of `context` (fingerprint.h), nor what a process measured where an earlier
// one's line is lost. Throws UserError naming `path` for a result that does not
// say which run measured a point.
void AddPointsOfResult(const SweepResult& result, const std::string& path,
                       const WantedPoints& wanted, const SweepContext& context,
                       Finished& finished);
void AddPointsOfJournal(const JournalContents& journal,
                        const WantedPoints& wanted, const ProcessPlan& plan,
                        const SweepContext& context, Finished& finished);

// Throws UserError naming `path` where a cell of a finished point is none of
// those planned, which come in their order.
void CheckPlanned(const FinishedPoint& finished, const Point& planned,
                  const std::string& path);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_RESUME_H_
