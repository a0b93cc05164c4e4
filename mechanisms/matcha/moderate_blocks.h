// beta of MAtChA by divide and conquer, as in adaptive_expectation.h, for rows
// whose chunk energies lie so close together that exp(u) of all of them, their
// sums and reciprocals fit into plain numbers with one common unit: then all
// pairs of two halves are one call of a kernel, in Real. Long halves are summed
// in near-linear time, which makes a row O(T log T). The recursion ends at
// blocks of kAdaptiveBlock entries.
#ifndef ATTNBENCH_MECHANISMS_MATCHA_MODERATE_BLOCKS_H_
#define ATTNBENCH_MECHANISMS_MATCHA_MODERATE_BLOCKS_H_

#include <algorithm>
#include <span>
#include <type_traits>

#include "mechanisms/kernels/kernels.h"
#include "mechanisms/monotonic/chunk_expectation.h"

namespace attnbench::matcha {

// All pairs of two halves are gone through unless the harmonic mean of their
// lengths is more than half of this: the work of pairs grows with the product
// of the lengths, that of expansions with their sum.
inline constexpr Index kLongestBlock = 512;
constexpr bool AreLong(Index left, Index right) {
  return 4 * left * right > kLongestBlock * (left + right);
}

// Splits a block longer than kAdaptiveBlock that begins at a multiple of it;
// the middle is a multiple, too.
constexpr Index MiddleOf(Index lo, Index hi) {
  const Index blocks = (hi - lo + kAdaptiveBlock - 1) / kAdaptiveBlock;
  return lo + blocks / 2 * kAdaptiveBlock;
}

template <class Real>
class ModerateBlocks {
 public:
  // If `quadratic`, all pairs are gone through.
  explicit ModerateBlocks(bool quadratic) : quadratic_(quadratic) {}

  // Whether the row is such a one; then Forward may be called.
  bool Take(const ChoiceRow<Real>& row) {
    const auto T = static_cast<Index>(row.p.size());
    exp_u_.resize(row.p.size());
    const std::span<const Real> u = row.chunk_energies;
    Real least, greatest;
    kernels_.range(u.data(), T, &least, &greatest);
    if (!(greatest - least <= kRange)) return false;
    kernels_.exp_sum(u.data(), greatest, T, exp_u_.data());
    return true;
  }

  void Forward(const ChoiceRow<Real>& row, std::span<Real> attention) {
    const std::size_t T = attention.size();
    row_ = &row;
    for (auto* array : {&mass_, &sum_, &pair_sums_}) array->resize(T);
    for (auto* array : {&total_, &passes_}) array->resize(T);
    for (std::size_t j = 0; j < T; ++j) passes_[j] = row.Passed(j);
    beta_.assign(T, 0);
    kernels_.adaptive_blocks(exp_u_.data(), row.start.data(), row.p.data(),
                             passes_.data(), static_cast<Index>(T),
                             beta_.data());
    AddBlock(0, static_cast<Index>(T));
    kernels_.multiply(beta_.data(), exp_u_.data(), static_cast<Index>(T),
                      attention.data());
  }

 private:
  static constexpr bool kSingle = std::is_same_v<Real, float>;
  // Half of the exponents of Real, so that sums and products have room.
  static constexpr Real kRange = kSingle ? 40 : 300;
  // What is left of a scan's mass is dropped below this share of it.
  static constexpr double kNegligible = kSingle ? 1e-30 : 1e-150;

  // Adds sum of G(k, l) over k <= j <= l to beta(j), for lo <= k <= l < hi that
  // are not in the same block of kAdaptiveBlock entries.
  void AddBlock(Index lo, Index hi) {
    if (hi - lo <= kAdaptiveBlock) return;
    const Index mid = MiddleOf(lo, hi);
    AddBlock(lo, mid);
    AddBlock(mid, hi);
    const Index begin = SetLeft(lo, mid);
    if (begin == mid) return;
    const Index end = SetRight(mid, hi);
    SumPairs(begin, mid, end);
    double before = 0;  // sum over k <= j of the row sums of G
    for (auto j = Size(begin); j < Size(mid); ++j) {
      before += mass_[j] * total_[j];
      beta_[j] += static_cast<Real>(before);
    }
    double after = 0;  // sum over l >= j of the column sums
    for (auto j = Size(end); j-- > Size(mid);) {
      after += mass_[j] * total_[j];
      beta_[j] += static_cast<Real>(after);
    }
  }

  // Sets A(k) and x(k) from the middle down to the last k that gets past it,
  // and returns the last k where something starts, or `mid`.
  Index SetLeft(Index lo, Index mid) {
    double passed = 1, x = 0;
    Index first = mid, begin = mid;
    while (begin > lo) {
      const auto k = Size(begin - 1);
      passed *= passes_[k];
      if (passed < kNegligible) break;
      --begin;
      x += exp_u_[k];
      sum_[k] = static_cast<Real>(x);
      mass_[k] = static_cast<Real>(row_->start[k] * passed);
      if (mass_[k] != 0) first = begin;
    }
    return first;
  }

  // Sets B(l) and y(l) from the middle up to the last l that is reached, and
  // returns the one behind.
  Index SetRight(Index mid, Index hi) {
    double passed = 1, y = 0;
    Index end = mid;
    while (end < hi && passed >= kNegligible) {
      const auto l = Size(end++);
      y += exp_u_[l];
      sum_[l] = static_cast<Real>(y);
      mass_[l] = static_cast<Real>(row_->p[l] * passed);
      passed *= passes_[l];
    }
    return end;
  }

  // Makes row and column sums, in Real for at most kRows and kColumns terms:
  // the rounding of longer sums would show.
  void SumPairs(Index begin, Index mid, Index end) {
    if (!quadratic_ && AreLong(mid - begin, end - mid)) {
      return SumLongHalves(begin, mid, end);
    }
    constexpr Index kRows = 256, kColumns = 1024;
    std::fill(total_.data() + begin, total_.data() + end, 0.0);
    Real rows[kRows], columns[kColumns];
    for (Index k = begin; k < mid; k += kRows) {
      const Index num_rows = std::min(kRows, mid - k);
      for (Index l = mid; l < end; l += kColumns) {
        const Index num_columns = std::min(kColumns, end - l);
        std::fill_n(columns, num_columns, Real{0});
        kernels_.reciprocal_sums(sum_.data() + k, mass_.data() + k, num_rows,
                                 sum_.data() + l, mass_.data() + l, num_columns,
                                 rows, columns);
        for (Index n = 0; n < num_rows; ++n) total_[Size(k + n)] += rows[n];
        for (Index n = 0; n < num_columns; ++n) {
          total_[Size(l + n)] += columns[n];
        }
      }
    }
  }

  void SumLongHalves(Index begin, Index mid, Index end) {
    Index last = mid;  // after the last k where something starts
    while (mass_[Size(last - 1)] == 0) --last;
    kernels_.cauchy_sums(sum_.data() + begin, mass_.data() + begin,
                         last - begin, sum_.data() + mid, mass_.data() + mid,
                         end - mid, pair_sums_.data() + begin,
                         pair_sums_.data() + mid);
    std::copy(pair_sums_.data() + begin, pair_sums_.data() + last,
              total_.data() + begin);
    std::fill(total_.data() + last, total_.data() + mid, 0.0);
    std::copy(pair_sums_.data() + mid, pair_sums_.data() + end,
              total_.data() + mid);
  }

  const bool quadratic_;
  const Kernels<Real>& kernels_ = BestKernels<Real>();
  const ChoiceRow<Real>* row_ = nullptr;
  Buffer<Real> exp_u_;  // relative to the greatest of the row
  // For a block these are A and B; x and y; row and column sums of 1 / (x + y)
  // with B and A. beta_ is beta / exp(u) of the row.
  Buffer<Real> mass_, sum_, pair_sums_;
  Buffer<double> total_, passes_;  // passes_: 1 - p
  Buffer<Real> beta_;
};

}  // namespace attnbench::matcha

#endif  // ATTNBENCH_MECHANISMS_MATCHA_MODERATE_BLOCKS_H_
