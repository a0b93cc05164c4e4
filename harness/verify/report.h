// The report of `attnbench verify`: numbers with an expectation go in, verdicts
// over all of them together come out, for people and as a document.
#ifndef ATTNBENCH_HARNESS_VERIFY_REPORT_H_
#define ATTNBENCH_HARNESS_VERIFY_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "harness/stats/monte_carlo.h"
#include "harness/verify/cases.h"
#include "harness/verify/result.h"

namespace attnbench {

// The column for "no entry was chosen" in counts of choices.
inline constexpr Index kNoEntry = -2;

// One number of an array. Indices count from 0; -1 stands for none.
struct ArrayNumber {
  Index row = -1;
  Index column = -1;
  Index previous = -1;  // t(i-1), in joint counts
  double expected = 0;
  double seen = 0;
  double p_value = 1;  // of exact comparisons either 0 or 1
};

// All numbers of one array, such as attention, selection, gradient of p_choose.
class Quantity {
 public:
  // An array that is compared up to rounding: |seen - expected| <= tolerance
  // max(1, |expected|).
  static Quantity Exact(std::string what, double tolerance);
  // An array that is compared by p-values, together with all others of the run.
  static Quantity Sampled(std::string what, std::int64_t trials);

  void CompareExact(Index row, Index column, double expected, double seen);
  // The two arrays have the same shape.
  void CompareExact(const Table<double>& expected, const Table<double>& seen);
  // CountPValue says what `rounding` is.
  void CompareCount(ArrayNumber at, std::int64_t hits, double rounding = 0);
  // Compares an expectation with the mean of samples.
  void CompareMean(Index row, Index column, double expected,
                   const SampleMean& sample);

  // Sets `passed` and `detectable`. An exact array passes if no number was off;
  // a sampled one if no p-value was <= threshold, where a single comparison has
  // the level `level`.
  void Judge(double threshold, double level);

  bool exact() const { return exact_; }
  const std::string& what() const { return what_; }
  std::int64_t comparisons() const { return comparisons_; }
  const std::vector<double>& p_values() const { return p_values_; }
  const ArrayNumber& worst() const { return worst_; }
  // The largest error of an exact comparison, over max(1, |expected|).
  double largest_error() const { return largest_error_; }
  bool passed() const { return passed_; }
  double detectable() const { return detectable_; }
  QuantityResult Result() const;
  // A text like "selection, output 2, entry 3: expected 0.25, seen 0.31,
  // p-value 1e-12".
  std::string WorstText() const;

 private:
  void Add(const ArrayNumber& comparison);

  std::string what_;
  bool exact_ = false;
  double tolerance_ = 0;
  std::int64_t trials_ = 0;
  std::int64_t comparisons_ = 0;
  std::vector<double> p_values_;
  ArrayNumber worst_;
  double largest_error_ = 0;
  // The numbers that vary most; discrepancies are hardest to see in them.
  std::optional<double> hardest_count_;
  std::optional<SampleMean> hardest_mean_;
  bool passed_ = false;
  double detectable_ = 0;
};

struct CaseReport {
  VerifyCase verify_case;
  std::int64_t trials = 0;  // trials, or outcomes enumerated
  std::vector<Quantity> quantities;
  std::optional<ChiSquare> chi_square;
  std::optional<std::string> failure;  // why it could not be computed

  bool passed() const;
  // The quantity with the smallest p-value among those that did not pass, else
  // among all; null if there is none.
  const Quantity* Worst() const;
  // Names the case, and its worst comparison or its failure, in one line.
  std::string Text() const;
  CaseResult Result() const;
};

// Judges all comparisons of a run together: exact ones by their tolerance,
// sampled ones by Holm's procedure at `level`.
void JudgeAll(double level, std::vector<CaseReport>& reports);

// The totals of a run that was judged.
struct VerifyTotals {
  std::int64_t comparisons = 0;
  std::int64_t sampled = 0;  // how many of them were sampled
  std::size_t failed_cases = 0;
  std::size_t worst_case = 0;  // index: failed, then the smallest p-value
};
VerifyTotals TotalsOf(const std::vector<CaseReport>& reports);

struct VerifyRun {
  Context context = {};
  double false_alarm_rate = 0;
  std::int64_t trials = 0;
  std::vector<std::string> not_verified;  // mechanisms without a case
};
// The document of a run with at least one case.
VerifyResult MakeVerifyResult(const std::vector<CaseReport>& reports,
                              const VerifyRun& run);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_VERIFY_REPORT_H_
