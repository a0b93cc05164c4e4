// The result document of a sweep (results/schema/sweep.schema.json), and how
// one is read that may come from anywhere: another machine, another version, an
// editor. It is checked as it is read, once, so that compare, check, merge and
// --resume can take every field for granted. A fault is a UserError with file
// and place.
#ifndef ATTNBENCH_HARNESS_RESULTS_SWEEP_RESULT_H_
#define ATTNBENCH_HARNESS_RESULTS_SWEEP_RESULT_H_

#include <string>
#include <vector>

#include "harness/results/cell.h"

namespace attnbench {

// Every kind of result has this schema_version.
inline constexpr int kSchemaVersion = 1;
inline const Rule kThisSchemaVersion{.minimum = kSchemaVersion,
                                     .maximum = kSchemaVersion};

struct SweepResult {
  int schema_version = kSchemaVersion;
  std::string kind = "sweep";
  SweepContext context;
  std::vector<ResultCell> cells;

  static void Fields(auto& self, auto& visit) {
    visit("schema_version", self.schema_version, kThisSchemaVersion);
    visit("kind", self.kind, Rule{.one_of = {"sweep"}});
    visit("context", self.context);
    visit("cells", self.cells);
  }
};

// A result that was read, with the path as the user gave it.
struct ReadSweep {
  std::string path;
  SweepResult result;
};

// Beyond its schema: the cells go together in themselves (CheckCell), none is
// there twice, and the point of each is one of the sweep's.
SweepResult SweepResultOf(const Json& document, const std::string& path);
// Wants also all cells of every point that is there: --resume alone can do
// without, as it measures such a point again.
ReadSweep ReadResult(const std::string& path);
ReadSweep ReadResult(const Json& document, const std::string& path);

// Throws UserError if a document is not of that kind, or of another version.
void CheckKind(const Json& document, const std::string& kind,
               const std::string& path);

// The runs that measured it. Where it says nothing of runs, as results from
// before there was that field, it is one that measured all cells.
std::vector<MeasuringRun> RunsOf(const SweepResult& result);

// The JSON Schema (draft 7). results/schema/sweep.schema.json is its text, for
// readers that do not have the program; a test compares the two.
Json SweepSchema();

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_RESULTS_SWEEP_RESULT_H_
