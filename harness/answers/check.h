// Checks whether a result still has the numbers of a baseline, as a pure
// function of the two documents: exact counts and memory, sums over the output,
// statuses, and the set of cells. It fails closed: what could not be compared
// is never good. Times are compared only on demand, and then only as ratios
// between cells that were timed in the same rounds of one result, because a
// baseline is checked on other machines than the one that made it. Instructions
// (run-sweep --measure instructions) are compared where either side has them,
// cell by cell: they hold for one compiler, its libraries and one level of
// SIMD.
#ifndef ATTNBENCH_HARNESS_ANSWERS_CHECK_H_
#define ATTNBENCH_HARNESS_ANSWERS_CHECK_H_

#include <optional>
#include <string>
#include <vector>

#include "harness/answers/check_counts.h"
#include "harness/machine/fingerprint.h"
#include "harness/results/cell_match.h"
#include "harness/results/sweep_result.h"
#include "harness/stats/change.h"
#include "harness/stats/effects.h"

namespace attnbench {

struct CheckOptions {
  bool time = false;
  double slack = kDefaultSlack;    // how much larger a count may get
  double level = kDefaultLevel;    // chance of a false regression anywhere
  double margin = kDefaultMargin;  // how much worse a ratio may get
  Effects effects = CommittedEffects();
};

struct CheckedSetup : FingerprintDifference {
  static void Fields(auto& self, auto& visit) {
    visit("field", self.field);
    visit("baseline", self.a);
    visit("result", self.b);
  }
};

struct CheckedNumber : CellIdentity, NumberChange {
  static void Fields(auto& self, auto& visit) {
    CellIdentity::Fields(self, visit);
    visit("field", self.field);
    visit("baseline", self.a);
    visit("result", self.b);
  }
};

struct FailedNow : CellIdentity {
  CellStatus status = CellStatus::kOk;

  static void Fields(auto& self, auto& visit) {
    CellIdentity::Fields(self, visit);
    visit("status", self.status);
  }
};

// The ratio of a cell to the first one of its point in its mode, scope,
// precision and threads.
struct CheckedRatio : CellIdentity {
  CellIdentity reference = {};
  double baseline_ratio = 0;
  double result_ratio = 0;
  double change = 0;
  std::optional<Interval> interval = {};
  // REGRESSED if the interval of the change lies wholly beyond the margin,
  // otherwise the name of the change.
  std::string verdict = {};
  std::string reason = {};

  static void Fields(auto& self, auto& visit) {
    CellIdentity::Fields(self, visit);
    visit("reference", self.reference);
    visit("baseline_ratio", self.baseline_ratio);
    visit("result_ratio", self.result_ratio);
    visit("change", self.change);
    visit("interval", self.interval);
    visit("verdict", self.verdict);
    visit("reason", self.reason);
  }
};

// A first cell to which more than half of the `ratios` `fell` beyond the
// margin: it got slower by as much, or so many others faster.
struct SlowerReference : CellIdentity {
  std::size_t fell = 0;
  std::size_t ratios = 0;

  static void Fields(auto& self, auto& visit) {
    CellIdentity::Fields(self, visit);
    visit("fell", self.fell);
    visit("ratios", self.ratios);
  }
};

// A compared cell that is in no ratio with an interval.
struct LeftOut : CellIdentity {
  std::string reason;

  static void Fields(auto& self, auto& visit) {
    CellIdentity::Fields(self, visit);
    visit("reason", self.reason);
  }
};

struct TimeCheck {
  double level = 0, margin = 0;  // those of CheckOptions
  std::vector<std::string> invalid_reasons = {}, warnings = {};
  std::vector<CheckedRatio> ratios = {};
  std::vector<SlowerReference> slower_references = {};
  std::vector<LeftOut> left_out = {};

  static void Fields(auto& self, auto& visit) {
    visit("level", self.level);
    visit("margin", self.margin);
    visit("invalid_reasons", self.invalid_reasons);
    visit("warnings", self.warnings);
    visit("ratios", self.ratios);
    visit("slower_references", self.slower_references);
    visit("left_out", self.left_out);
  }
};

// The document (results/schema/check.schema.json).
struct CheckReport {
  int schema_version = kSchemaVersion;
  std::string kind = "check";
  std::string baseline, result;               // the paths
  std::optional<std::size_t> baseline_cells;  // none without a baseline
  std::size_t compared = 0;    // cells that were measured on both sides
  std::size_t unmeasured = 0;  // all others that both have
  std::vector<CheckedSetup> differences;
  std::vector<CheckedNumber> changes;
  // Cells of both documents that failed in the result, whatever the baseline
  // says.
  std::vector<FailedNow> failed;
  std::vector<CellIdentity> missing, added;
  std::optional<CountCheck> instructions;  // none where neither side has any
  std::optional<TimeCheck> time;

  static void Fields(auto& self, auto& visit) {
    visit("schema_version", self.schema_version);
    visit("kind", self.kind);
    visit("baseline", self.baseline);
    visit("result", self.result);
    visit("baseline_cells", self.baseline_cells);
    visit("compared", self.compared);
    visit("unmeasured", self.unmeasured);
    visit("differences", self.differences);
    visit("changes", self.changes);
    visit("failed", self.failed);
    visit("missing", self.missing);
    visit("added", self.added);
    visit("instructions", self.instructions);
    visit("time", self.time);
  }
};

// Checks `result`; without a baseline there is nothing to compare with.
CheckReport CheckAgainst(const std::optional<ReadSweep>& baseline,
                         const std::string& baseline_path,
                         const ReadSweep& result, const CheckOptions& options);

// The report for people: everything that is wrong, and a last line with the
// sum.
std::string CheckText(const CheckReport& check);
// The same as a list for a pull request, with a table of ratios.
std::string CheckMarkdown(const CheckReport& check);
// The same as a report of tests, with a case for each ratio and everything that
// is wrong, one for all cells that were compared, a property for each
// difference of the setups, and the other lines of CheckText as the suite's
// output. A case is a failure or an error if and only if CheckExitCode is not
// 0.
std::string CheckJUnit(const CheckReport& check);

// 3 where the baseline is absent or empty, a cell is only on one side, none was
// measured on both, one is in no ratio though times were asked for, or counts
// of instructions cannot be compared; 1 where a number or status changed, a
// cell of the result failed or a count regressed; 5 where times of an invalid
// result were asked for; 1 where a ratio or a first cell regressed; otherwise
// 0.
int CheckExitCode(const CheckReport& check);

// Says why `result` cannot become a baseline; empty if it can. It must be
// valid, whole (every point of its sweep), and have a measured and no failed
// cell.
std::string WhyNoBaseline(const SweepResult& result);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_ANSWERS_CHECK_H_
