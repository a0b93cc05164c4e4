// What a diagnosis reads of one sequence, and how far numbers of it are from
// the exact ones.
#ifndef ATTNBENCH_HARNESS_STABILITY_SEQUENCE_ERRORS_H_
#define ATTNBENCH_HARNESS_STABILITY_SEQUENCE_ERRORS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/stability/diagnosis.h"
#include "harness/stability/inputs.h"

namespace attnbench {

// The mechanism whose attention is alpha.
inline constexpr char kScan[] = "monotonic";

Index RowsOf(const StabilityScores& scores, const std::string& source);
Index ColsOf(const StabilityScores& scores, const std::string& source);

// The first rows of every table that the mechanism takes.
StabilityScores FirstOutputs(const StabilityScores& scores,
                             const Description& about, Index outputs);

StabilityPoint PointOf(const std::string& mechanism,
                       const StabilityScores& scores,
                       const std::string& source);

// What was found in the sequences that a variant was measured on.
struct Found {
  double error = 0, relative_error = 0;
  double mass_error_sum = 0;  // over all outputs
  DiagnosedPlace worst = {};
  std::vector<double> mass_errors = {};  // of each output, signed
  std::int64_t moved = 0, outputs = 0, not_finite = 0;
  std::optional<DiagnosedPlace> first_wrong = {};

  void Add(const Found& other);
};

// Of all outputs that were made; `sequence` counts from 0.
template <class Real>
Found CompareSequence(const Table<double>& exact, const Table<Real>& made,
                      double tolerance, Index sequence);

// Writes all but the names, the sequences and the gradient.
void WriteErrors(const Found& all, DiagnosedVariant& made);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STABILITY_SEQUENCE_ERRORS_H_
