// beta of MAtChA by divide and conquer, as in adaptive_expectation.h, for rows
// whose chunk energies lie so close together that exp(u) of all of them, their
// sums and reciprocals fit into plain numbers with one common unit: then all
// pairs of two halves are one call of a kernel, in Real.
#ifndef ATTNBENCH_MECHANISMS_MATCHA_MODERATE_BLOCKS_H_
#define ATTNBENCH_MECHANISMS_MATCHA_MODERATE_BLOCKS_H_

#include <algorithm>
#include <span>
#include <type_traits>

#include "mechanisms/kernels/kernels.h"
#include "mechanisms/monotonic/chunk_expectation.h"

namespace attnbench::matcha {

template <class Real>
class ModerateBlocks {
 public:
  // Whether the row is such a one; then Forward may be called.
  bool Take(const ChoiceRow<Real>& row) {
    const auto T = static_cast<Index>(row.p.size());
    exp_u_.resize(row.p.size());
    const std::span<const Real> u = row.chunk_energies;
    const Real greatest = kernels_.largest(u.data(), T);
    if (!(greatest - kernels_.smallest(u.data(), T) <= kRange)) return false;
    kernels_.exp_sum(u.data(), greatest, T, exp_u_.data());
    return true;
  }

  void Forward(const ChoiceRow<Real>& row, std::span<Real> attention) {
    const std::size_t T = attention.size();
    row_ = &row;
    for (auto* array : {&mass_, &sum_, &beta_}) array->resize(T);
    total_.resize(T);
    std::ranges::fill(beta_, Real{0});
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
  // Below this the pairs are taken one by one.
  static constexpr Index kSmall = 16;

  // Adds sum of G(k, l) over k <= j <= l to beta(j), for lo <= k <= l < hi.
  void AddBlock(Index lo, Index hi) {
    if (hi - lo <= kSmall) return AddSmall(lo, hi);
    const Index mid = lo + (hi - lo) / 2;
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
      passed *= row_->Passed(k);
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
      passed *= row_->Passed(l);
    }
    return end;
  }

  // Makes row and column sums, in Real for at most kRows and kColumns terms:
  // the rounding of longer sums would show.
  void SumPairs(Index begin, Index mid, Index end) {
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

  void AddSmall(Index lo, Index hi) {
    Real G[kSmall];
    for (auto k = Size(lo); k < Size(hi); ++k) {
      double mass = row_->start[k];
      if (mass == 0) continue;
      Real sum = 0;
      for (auto l = k; l < Size(hi); ++l) {
        sum += exp_u_[l];
        G[l - k] = static_cast<Real>(mass * row_->p[l]) / sum;
        mass *= row_->Passed(l);
      }
      Real after = 0;
      for (auto l = Size(hi); l-- > k;) beta_[l] += after += G[l - k];
    }
  }

  const Kernels<Real>& kernels_ = BestKernels<Real>();
  const ChoiceRow<Real>* row_ = nullptr;
  Buffer<Real> exp_u_;  // relative to the greatest of the row
  // For a block these are A and B; x and y; row and column sums of 1 / (x + y)
  // with B and A. beta_ is beta / exp(u) of the row.
  Buffer<Real> mass_, sum_;
  Buffer<double> total_;
  Buffer<Real> beta_;
};

}  // namespace attnbench::matcha

#endif  // ATTNBENCH_MECHANISMS_MATCHA_MODERATE_BLOCKS_H_
