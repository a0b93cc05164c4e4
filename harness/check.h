// Whether a result still has the numbers of a baseline, as a pure function of
// the two documents: exact counts and memory, sums over the output, statuses,
// and the set of cells. It fails closed: what could not be compared is never
// good. Times are looked at only on demand, and then only as ratios between
// cells that were timed in the same rounds of one result, because a baseline is
// checked on other machines than the one that made it.
#ifndef ATTNBENCH_HARNESS_CHECK_H_
#define ATTNBENCH_HARNESS_CHECK_H_

#include <optional>
#include <string>

#include "harness/judge.h"
#include "harness/result_reader.h"

namespace attnbench {

struct CheckOptions {
  bool time = false;
  double level = kDefaultLevel;    // of a false regression anywhere
  double margin = kDefaultMargin;  // a ratio may get worse by as much
};

// `baseline` and `result` are checked (ReadResult); without a baseline there is
// nothing to compare with. Members (results/schema/check.schema.json):
// `baseline`, `result`: the paths; `differences` of the fingerprints;
// `compared`: cells that were measured on both sides, `unmeasured`: all others
// that both have; `changes` (NumberChanges); those of both that `failed` in the
// result, whatever the baseline says; `missing` from the result, `added` to it;
// `time`: null, or `level`, `margin`, `ratios`, each of a cell to the
// first of its point in its mode, scope, precision and threads, with a verdict:
// REGRESSED where the interval of the ratio's change lies wholly beyond the
// margin, otherwise what JudgeChange says; `slower_references`: the first cells
// to which more than half of their `ratios` `fell` beyond the margin, by which
// they got slower, or so many others faster; and `left_out`: those compared
// cells that are in no ratio with an interval, with a reason each.
Json CheckAgainst(const AxisTable& table,
                  const std::optional<ResultDocument>& baseline,
                  const std::string& baseline_path,
                  const ResultDocument& result, const CheckOptions& options);

// For people: what is wrong, and a last line with the sum.
std::string CheckText(const AxisTable& table, const Json& check);

// 3 where the baseline is absent or empty, a cell is only on one side, none was
// measured on both, or one is in no ratio though times were asked for; 1 where
// a number or status changed, a cell of the result failed, a ratio or a first
// cell regressed, or times of an invalid result were asked for; otherwise 0.
int CheckExitCode(const Json& check);

// Why `result` cannot become a baseline; empty where it can. It must be valid,
// whole (every point of its sweep), and have a measured and no failed cell.
std::string WhyNoBaseline(const ResultDocument& result);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CHECK_H_
