// Compares the instructions that `run-sweep --measure instructions` counted in
// two results: cell by cell, exactly but for a stated slack.
#ifndef ATTNBENCH_HARNESS_ANSWERS_CHECK_COUNTS_H_
#define ATTNBENCH_HARNESS_ANSWERS_CHECK_COUNTS_H_

#include <optional>
#include <string>
#include <vector>

#include "harness/answers/junit.h"
#include "harness/machine/fingerprint.h"
#include "harness/results/cell_match.h"

namespace attnbench {

// The verdict on what grew by more than it may.
inline constexpr char kRegressed[] = "REGRESSED";

// The share by which a count may grow. Code elsewhere in a program moves counts
// a little: malloc takes more or fewer instructions, by what it gave before.
inline constexpr double kDefaultSlack = 0.005;

struct CheckedCount : CellIdentity {
  double baseline = 0, result = 0;  // instructions of a trial
  double change = 0;                // result over baseline, less 1
  // REGRESSED if the change is more than the slack, FEWER if it is less than
  // its negative, else SAME.
  std::string verdict = {};

  static void Fields(auto& self, auto& visit) {
    CellIdentity::Fields(self, visit);
    visit("baseline", self.baseline);
    visit("result", self.result);
    visit("change", self.change);
    visit("verdict", self.verdict);
  }
};

struct CountCheck {
  double slack = 0;  // that of CheckOptions
  // Why no count is compared with another; then there are no counts.
  std::vector<std::string> incomparable = {};
  std::vector<CheckedCount> counts = {};

  static void Fields(auto& self, auto& visit) {
    visit("slack", self.slack);
    visit("incomparable", self.incomparable);
    visit("counts", self.counts);
  }
};

// Compares cells that are `ok` on both sides; a is the baseline. `differences`
// are those of the setups: counts of another compiler, architecture, library or
// level of SIMD are of other code, and say nothing. None where neither side has
// any count.
std::optional<CountCheck> CheckCounts(
    const CellMatch& match,
    const std::vector<FingerprintDifference>& differences, double slack);

bool HasRegressed(const CountCheck& check);

// The counts that are not the same, a line each.
std::string CountsText(const CountCheck& check, const CellNames& names);
// Why no count is compared; or else how many regressed, and the largest change.
std::vector<std::string> CountNotes(const CountCheck& check,
                                    const CellNames& names);
// A table of the counts that are not the same; empty where all are.
std::string CountsMarkdown(const CountCheck& check, const CellNames& names);
// A case for each count, and for each reason why none is compared.
std::vector<TestCase> CountCases(const CountCheck& check,
                                 const CellNames& names);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_ANSWERS_CHECK_COUNTS_H_
