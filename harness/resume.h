// What an earlier run has finished of a sweep: from its journal, its result, or
// both. Pure functions over documents.
#ifndef ATTNBENCH_HARNESS_RESUME_H_
#define ATTNBENCH_HARNESS_RESUME_H_

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/axes.h"
#include "harness/journal.h"

namespace attnbench {

struct FinishedPoint {
  Json cells;
  Json calibration;     // an entry of `context.calibration`, or null
  std::size_t run = 0;  // which of Finished::runs measured it
};

struct Finished {
  std::map<std::string, FinishedPoint> points;  // by hash
  std::vector<Json> runs;        // as RunEntry (runs.h), `points` not filled in
  std::optional<Json> context;   // of the first run that measured one of them
  Json limits = Json::array();   // of the machine, as in a context
  std::set<std::string> others;  // points there that may not be taken
  std::string difference;  // between machines, where that is why: "cpu was ..."
};

// A record of the journal for a run as it begins, with its context as far as it
// is known then, and whether it goes on from the points of the result that is
// there. A resumed run adds another.
Json RunRecord(const Json& context, bool continues_result);

// ... and for a point as it is finished, with its run (RunEntry) as it is
// judged by then, and `machine`, the FingerprintHash of its context: a run that
// is killed has said how busy the machine was, and where the line of the run is
// damaged its points know what they are of.
Json PointRecord(const std::string& hash, const FinishedPoint& point,
                 const Json& run, const std::string& machine);

// Whether a run would lose something by beginning anew.
bool HasPoints(const JournalContents& journal);

// Whether the journal's points go on from those of the result.
bool ContinuesResult(const JournalContents& journal);

// Takes points whose hash is `wanted` from the document of a result, and from a
// journal, into `finished`. Nothing is taken where the machine or its settings
// are not those of `context` (fingerprint.h). Throws UserError naming `path`
// for a document that is no result of a sweep.
void TakeResult(const Json& document, const std::string& path,
                const std::set<std::string>& wanted, const Json& context,
                Finished& finished);
void TakeJournal(const JournalContents& journal,
                 const std::set<std::string>& wanted, const Json& context,
                 Finished& finished);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_RESUME_H_
