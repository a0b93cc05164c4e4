// What an earlier run has finished of a sweep: from its journal, its result, or
// both. Pure functions over documents.
#ifndef ATTNBENCH_HARNESS_RESUME_H_
#define ATTNBENCH_HARNESS_RESUME_H_

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "harness/axes.h"
#include "harness/journal.h"

namespace attnbench {

// A record of the journal for a run as it begins, with the context as far as it
// is known then, and whether it goes on from the points of the result that is
// there. A resumed run adds another.
Json RunRecord(const Json& context, bool continues_result);

// ... and for a point as it is finished: {"point", "cells", "calibration"},
// the last an entry of `context.calibration` or null.
Json PointRecord(const std::string& hash, const Json& cells,
                 const Json& calibration);

struct Finished {
  std::map<std::string, Json> points;  // by hash: as PointRecord
  std::optional<Json> context;         // of the first run
  std::set<std::string> resumed;       // the dates of the others
  std::size_t num_others = 0;          // points that are not `wanted`
  std::string difference;  // between machines, where that is why: "cpu was ..."
};

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
