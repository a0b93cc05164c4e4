// How one row of numbers differs from the exact one.
#ifndef ATTNBENCH_HARNESS_STABILITY_ROW_DIFFERENCE_H_
#define ATTNBENCH_HARNESS_STABILITY_ROW_DIFFERENCE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace attnbench {

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

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STABILITY_ROW_DIFFERENCE_H_
