// Compares two results of sweeps, B against A, as a pure function of the two
// documents: what the two were measured with, a verdict on every cell's time
// (judge.h) with an interval that is corrected for the number of cells, and
// what changed beside times. The answer is one JSON document
// (results/schema/compare.schema.json); its table and exit code follow from it.
#ifndef ATTNBENCH_HARNESS_COMPARE_H_
#define ATTNBENCH_HARNESS_COMPARE_H_

#include <string>

#include "harness/judge.h"
#include "harness/result_reader.h"

namespace attnbench {

struct CompareOptions {
  double level = kDefaultLevel;    // of a false FASTER or SLOWER anywhere
  double margin = kDefaultMargin;  // smallest change that matters
};

// `a` and `b` are checked (ReadResult). Members: `a`, `b` (path, what it was
// measured with, validity), `differences` of the fingerprints, `level`,
// `margin`, `comparisons`, `common_ratio` (median of all ratios: far from 1 the
// machine changed rather than the code), `rows` with a verdict each,
// `untimed` (cells without a time on one side or both), `changes`, `only_a`,
// `only_b`.
Json CompareResults(const AxisTable& table, const ResultDocument& a,
                    const ResultDocument& b, const CompareOptions& options);

// For people: validity, fingerprints and what changed beside times first, then
// a line a cell.
std::string CompareText(const AxisTable& table, const Json& comparison);

// 3 where a side has cells that the other has not, or no time could be
// compared: none is there, or none has an interval (one round); 1 where a
// result is not valid, a number changed (NumberChanges), a status became
// another than ok, a cell of B failed (in A too or not), or a cell is SLOWER;
// otherwise 0.
int CompareExitCode(const Json& comparison);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_COMPARE_H_
