// How far what was found is from the exact numbers: in one row, in many, and in
// the sequences of a diagnosis.
#ifndef ATTNBENCH_HARNESS_STABILITY_ERRORS_H_
#define ATTNBENCH_HARNESS_STABILITY_ERRORS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "harness/base/arrays.h"
#include "harness/stability/diagnosis.h"
#include "harness/stability/result.h"

namespace attnbench {

// Rounds `value` to four digits; null if it is not finite.
Figure StabilityNumber(double value);

struct RowDifference {
  double error = 0;  // the largest
  std::size_t worst = 0;
  double mass = 0;           // the exact sum of the row
  double missing = 0;        // of that sum; NaN if any number is
  double largest = 0;        // of the magnitudes found
  double largest_exact = 0;  // of the exact magnitudes
  bool moved = false;        // its greatest number, elsewhere; a tie is no move
  std::int64_t not_finite = 0;  // numbers, which have no error

  // The error relative to the largest exact number; null where f32 cannot hold
  // the rest of such a row.
  std::optional<double> relative() const {
    constexpr double kLeastOfRow = 1e-30;
    if (largest_exact < kLeastOfRow) return std::nullopt;
    return error / largest_exact;
  }
};

template <class Real>
RowDifference CompareRows(std::span<const double> exact,
                          std::span<const Real> found) {
  RowDifference made;
  std::size_t peak = 0, exact_peak = 0;
  for (std::size_t j = 0; j < exact.size(); ++j) {
    const auto value = static_cast<double>(found[j]);
    made.mass += exact[j];
    made.missing += exact[j] - value;
    made.largest_exact = std::max(made.largest_exact, std::abs(exact[j]));
    if (exact[j] > exact[exact_peak]) exact_peak = j;
    if (!std::isfinite(value)) {
      ++made.not_finite;
      continue;
    }
    made.largest = std::max(made.largest, std::abs(value));
    if (found[j] > found[peak]) peak = j;
    if (std::abs(value - exact[j]) > made.error) {
      made.error = std::abs(value - exact[j]);
      made.worst = j;
    }
  }
  made.moved = !exact.empty() && found[peak] > found[exact_peak];
  return made;
}

// The largest of the rows that were added.
struct Errors {
  double error = 0, relative_error = 0;
  double mass_error = 0;  // of the sum of a row
  double lost = 0;        // of that sum; 0 if none falls short
  double largest = 0, largest_exact = 0;
  std::int64_t not_finite = 0;

  void Add(const RowDifference& row);
  void Add(const Errors& other);
  template <class Real>
  void Add(const Table<double>& exact, const Table<Real>& found) {
    for (Index i = 0; i < exact.rows; ++i) {
      Add(CompareRows<Real>(exact.view().Row(i), found.view().Row(i)));
    }
  }

  // One of these as a result has it: null once anything was not finite.
  Figure Shown(double value) const {
    return not_finite > 0 ? std::nullopt : StabilityNumber(value);
  }
  AttentionErrors OfAttention() const {
    return {Shown(error), Shown(relative_error), Shown(mass_error)};
  }
};

// The place of output i of sequence n, which count from 0.
DiagnosedPlace PlaceOf(const DiagnosisRequest& request, std::size_t n,
                       std::size_t i);

// Keeps the place of the earlier output.
void KeepFirst(const std::optional<DiagnosedPlace>& other,
               std::optional<DiagnosedPlace>& first);

// In the sequences that a variant was measured on.
struct SequenceErrors : Errors {
  double mass_error_sum = 0;  // over all outputs
  DiagnosedPlace worst = {};
  std::vector<double> mass_errors = {};  // of each output, signed
  std::int64_t moved = 0, outputs = 0;
  std::optional<DiagnosedPlace> first_wrong = {};

  void AddOutput(const RowDifference& row, double tolerance,
                 DiagnosedPlace place);
  void AddSequence(const SequenceErrors& other);
  // Writes all but the names, the sequences and the gradient.
  void Write(DiagnosedVariant& made) const;
};

// The errors of all outputs of sequence n that were made.
template <class Real>
SequenceErrors CompareSequence(const Table<double>& exact,
                               const Table<Real>& made,
                               const DiagnosisRequest& request, std::size_t n) {
  SequenceErrors errors;
  for (Index i = 0; i < made.rows; ++i) {
    errors.AddOutput(CompareRows<Real>(exact.view().Row(i), made.view().Row(i)),
                     request.tolerance, PlaceOf(request, n, Size(i)));
  }
  return errors;
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STABILITY_ERRORS_H_
