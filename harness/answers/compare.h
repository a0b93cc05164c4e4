// Compares two results of sweeps, B against A, as a pure function of the two
// documents: what the two were measured with, the change of every cell's time
// (stats/change.h), and what changed beside times. The answer is one JSON
// document (results/schema/compare.schema.json); its text, table and exit code
// follow from it.
//
// The machine may be slower on another day, for all cells alike. So a cell
// is judged by its ratio over the median of all cells' ratios, the common one;
// whether that is the machine or all of the code, two runs cannot tell. Fewer
// than kLeastCommon cells have nothing to be divided by: they are judged by
// their ratios alone, with what a run does to a time.
#ifndef ATTNBENCH_HARNESS_ANSWERS_COMPARE_H_
#define ATTNBENCH_HARNESS_ANSWERS_COMPARE_H_

#include <optional>
#include <string>
#include <vector>

#include "harness/machine/fingerprint.h"
#include "harness/results/cell_match.h"
#include "harness/results/sweep_result.h"
#include "harness/stats/change.h"
#include "harness/stats/effects.h"

namespace attnbench {

inline constexpr std::size_t kLeastCommon = 3;

struct CompareOptions {
  double level = kDefaultLevel;    // of a false FASTER or SLOWER anywhere
  double margin = kDefaultMargin;  // the smallest change that matters
  Effects effects = CommittedEffects();
};

// One of the two results, with what it was measured with and its validity.
struct ComparedSide {
  std::string path;
  std::string commit, build_id, date, cpu, simd;
  bool valid = false;
  std::vector<std::string> invalid_reasons, warnings;

  static void Fields(auto& self, auto& visit) {
    visit("path", self.path);
    visit("commit", self.commit);
    visit("build_id", self.build_id);
    visit("date", self.date);
    visit("cpu", self.cpu);
    visit("simd", self.simd);
    visit("valid", self.valid);
    visit("invalid_reasons", self.invalid_reasons);
    visit("warnings", self.warnings);
  }
};

struct ComparedSetup : FingerprintDifference {
  static void Fields(auto& self, auto& visit) {
    visit("field", self.field);
    visit("a", self.a);
    visit("b", self.b);
  }
};

// A change that is not of times.
struct ComparedNumber : CellIdentity, NumberChange {
  static void Fields(auto& self, auto& visit) {
    CellIdentity::Fields(self, visit);
    visit("field", self.field);
    visit("a", self.a);
    visit("b", self.b);
  }
};

// A cell that was timed in both.
struct ComparedTime : CellIdentity {
  std::string verdict = {};  // ChangeName
  std::string reason = {};
  double ratio = 0;  // B over A, over common_ratio if `relative`
  std::optional<Interval> interval = {};
  double a_ns = 0;
  std::int64_t a_processes = 1;
  double b_ns = 0;
  std::int64_t b_processes = 1;

  static void Fields(auto& self, auto& visit) {
    CellIdentity::Fields(self, visit);
    visit("verdict", self.verdict);
    visit("reason", self.reason);
    visit("ratio", self.ratio);
    visit("interval", self.interval);
    visit("a_ns", self.a_ns);
    visit("a_processes", self.a_processes);
    visit("b_ns", self.b_ns);
    visit("b_processes", self.b_processes);
  }
};

// A cell that has no time on one side or both.
struct UntimedCell : CellIdentity {
  CellStatus a_status = CellStatus::kOk;
  CellStatus b_status = CellStatus::kOk;

  static void Fields(auto& self, auto& visit) {
    CellIdentity::Fields(self, visit);
    visit("a_status", self.a_status);
    visit("b_status", self.b_status);
  }
};

struct Comparison {
  int schema_version = kSchemaVersion;
  std::string kind = "compare";
  ComparedSide a, b;
  std::vector<ComparedSetup> differences;
  double level = 0, margin = 0;  // those of CompareOptions
  std::int64_t comparisons = 0;  // number of `rows`
  // The median of all ratios, with its interval of 95 percent: what the machine
  // did, or all of the code. It is none without a ratio; its interval is none
  // unless `relative`.
  std::optional<double> common_ratio;
  std::optional<Interval> common_interval;
  bool relative = false;  // there are enough cells to divide by common_ratio
  bool paired = false;    // measured in turn: common_ratio is of the code alone
  // The smallest change that another placement of the code does not explain, as
  // a share; none where both sides have several builds, or are one program.
  std::optional<double> placement;
  std::vector<ComparedTime> rows;
  std::vector<UntimedCell> untimed;
  std::vector<ComparedNumber> changes;
  std::vector<CellIdentity> only_a, only_b;

  static void Fields(auto& self, auto& visit) {
    visit("schema_version", self.schema_version);
    visit("kind", self.kind);
    visit("a", self.a);
    visit("b", self.b);
    visit("differences", self.differences);
    visit("level", self.level);
    visit("margin", self.margin);
    visit("comparisons", self.comparisons);
    visit("common_ratio", self.common_ratio);
    visit("common_interval", self.common_interval);
    visit("relative", self.relative);
    visit("paired", self.paired);
    visit("placement", self.placement);
    visit("rows", self.rows);
    visit("untimed", self.untimed);
    visit("changes", self.changes);
    visit("only_a", self.only_a);
    visit("only_b", self.only_b);
  }
};

Comparison CompareResults(const ReadSweep& a, const ReadSweep& b,
                          const CompareOptions& options);

// Compares two programs that one run measured in turn: process k of `b` was
// measured right after process k of `a`, so that all cells have as many. Each
// process has a common ratio of its own, by which its cells' ratios are divided
// (from kLeastCommon cells on); the processes, or the builds, then show all
// that a run does.
Comparison ComparePaired(const ReadSweep& a, const ReadSweep& b,
                         const CompareOptions& options);

// The comparison for people: first validity, warnings, fingerprints and changes
// of other things than times, then a line a cell.
std::string CompareText(const Comparison& comparison);

// The same as lists and a table for a pull request.
std::string CompareMarkdown(const Comparison& comparison);

// The same as a report of tests, with a case for each cell and each change, a
// property for each difference of the setups and each warning, and the lines
// above and below the table as the suite's output. A case
// is a failure or an error if and only if CompareExitCode is not 0. AMBIGUOUS
// cells and cells without a time are skipped.
std::string CompareJUnit(const Comparison& comparison);

// The first that applies:
//
// kNothingToCompare  a side has cells that the other has not, or no time could
//                    be compared: none is there, or none has an interval
// kFailed            a number changed (NumberChanges), a status became another
//                    than ok, or a cell of B failed (in A too or not)
// kNotValid          a result is not valid, so that its times mean nothing
// kFailed            a cell is SLOWER, or all are together, of two programs
//                    that were measured in turn
int CompareExitCode(const Comparison& comparison);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_ANSWERS_COMPARE_H_
