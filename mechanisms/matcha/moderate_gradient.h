// The gradient of MAtChA's beta for the rows of moderate_blocks.h, by the same
// divide and conquer. For k left of the middle and l from it on, with X and Y
// the sums of exp(u) d like x and y of exp(u), and r = 1 / (x + y),
//
//   L = sum over all pairs of A(k) B(l) (X(k) + Y(l)) r,
//
// whose derivatives by A, x and X (B, y and Y) are sums over l (over k) of r
// and r^2 with weights, one kernel; from there back to p, start and u run plain
// sums and products. Nothing is divided by what may be 0. All is in f64, as
// d(j) - M cancels.
#ifndef ATTNBENCH_MECHANISMS_MATCHA_MODERATE_GRADIENT_H_
#define ATTNBENCH_MECHANISMS_MATCHA_MODERATE_GRADIENT_H_

#include <algorithm>
#include <array>
#include <span>

#include "mechanisms/kernels/kernels.h"
#include "mechanisms/matcha/moderate_blocks.h"
#include "mechanisms/monotonic/chunk_expectation.h"

namespace attnbench::matcha {

template <class Real>
class ModerateGradient {
 public:
  // If `quadratic`, all pairs are gone through.
  explicit ModerateGradient(bool quadratic) : quadratic_(quadratic) {}

  // Whether the row is such a one; then Backward may be called.
  bool Take(const ChoiceRow<Real>& row) {
    const std::size_t T = row.p.size();
    Real least, greatest;
    BestKernels<Real>().range(row.chunk_energies.data(), static_cast<Index>(T),
                              &least, &greatest);
    if (!(greatest - least <= kRange)) return false;
    exp_u_.assign(row.chunk_energies.begin(), row.chunk_energies.end());
    kernels_.exp_sum(exp_u_.data(), greatest, static_cast<Index>(T),
                     exp_u_.data());
    passes_.resize(T);
    for (std::size_t j = 0; j < T; ++j) passes_[j] = row.Passed(j);
    return true;
  }

  // Does what ChunkExpectation::Backward does of one row.
  void Backward(const ChoiceRow<Real>& row, std::span<const Real> d,
                const ChoiceRowGradient<Real>& gradient) {
    const std::size_t T = d.size();
    weighted_.resize(T);
    for (std::size_t j = 0; j < T; ++j) weighted_[j] = exp_u_[j] * d[j];
    for (auto* array : {&sum_, &weighted_sum_, &reach_, &mass_, &mass_sum_}) {
      array->resize(T);
    }
    for (Buffer<double>& array : moments_) array.resize(T);
    for (auto* array :
         {&d_start_, &d_p_, &d_passes_, &d_exp_u_, &d_weighted_}) {
      array->assign(T, 0);
    }
    start_.assign(row.start.begin(), row.start.end());
    p_.assign(row.p.begin(), row.p.end());
    const auto count = static_cast<Index>(T);
    kernels_.adaptive_blocks_backward(
        exp_u_.data(), weighted_.data(), start_.data(), p_.data(),
        passes_.data(), count, d_exp_u_.data(), d_weighted_.data(),
        d_start_.data(), d_p_.data());
    AddBlock(0, count);
    for (std::size_t j = 0; j < T; ++j) {
      gradient.start[j] += d_start_[j];
      gradient.p[j] += static_cast<Real>(d_p_[j] - d_passes_[j]);
      gradient.chunk_energies[j] =
          static_cast<Real>(exp_u_[j] * (d_exp_u_[j] + d[j] * d_weighted_[j]));
    }
  }

 private:
  // r^2 and sums of it stay inside the range of f64.
  static constexpr double kRange = 200;
  // What is left of a scan's mass is dropped below this share of it.
  static constexpr double kNegligible =
      std::is_same_v<Real, float> ? 1e-30 : 1e-150;

  // Adds what the pairs (k, l) with lo <= k <= l < hi give that are not in the
  // same block of kAdaptiveBlock entries.
  void AddBlock(Index lo, Index hi) {
    if (hi - lo <= kAdaptiveBlock) return;
    const Index middle = MiddleOf(lo, hi);
    AddBlock(lo, middle);
    AddBlock(middle, hi);
    const std::size_t mid = Size(middle);
    const std::size_t begin = SetLeft(Size(lo), mid);
    const std::size_t end = SetRight(mid, Size(hi));
    SumPairs(begin, mid, end);
    LeftBackward(begin, mid);
    RightBackward(mid, end);
  }

  // A scan that gives out has one more life, with what it would carry past the
  // entry that ended it: a derivative by that entry's 1 - p asks for it.
  struct Scan {
    double reach = 1;  // 0 in the second life
    double would_reach = 1;
    int lives = 2;
    void Pass(double passes) {
      const double before = would_reach;
      reach *= passes;
      would_reach *= passes;
      if (would_reach >= kNegligible) return;
      reach = 0;
      would_reach = 1;
      // A scan that faded away, rather than ended, has nothing of weight after
      // it.
      lives = before < 1e6 * kNegligible ? 0 : lives - 1;
    }
  };

  // Sets reach (the product of 1 - p from k on), A, x and X from the middle
  // down to the last k that matters, and returns that.
  std::size_t SetLeft(std::size_t lo, std::size_t mid) {
    Scan scan;
    double x = 0, X = 0;
    std::size_t k = mid;
    while (k > lo && scan.lives > 0) {
      --k;
      scan.Pass(passes_[k]);
      sum_[k] = x += exp_u_[k];
      weighted_sum_[k] = X += weighted_[k];
      reach_[k] = scan.reach;
      mass_[k] = start_[k] * scan.reach;
      mass_sum_[k] = mass_[k] * X;
    }
    return k;
  }

  // Does the same to the right: reach is the product of 1 - p up to the one
  // before l.
  std::size_t SetRight(std::size_t mid, std::size_t hi) {
    Scan scan;
    double y = 0, Y = 0;
    std::size_t l = mid;
    while (l < hi && scan.lives > 0) {
      sum_[l] = y += exp_u_[l];
      weighted_sum_[l] = Y += weighted_[l];
      reach_[l] = scan.reach;
      mass_[l] = p_[l] * scan.reach;
      mass_sum_[l] = mass_[l] * Y;
      scan.Pass(passes_[l]);
      ++l;
    }
    return l;
  }

  void SumPairs(std::size_t begin, std::size_t mid, std::size_t end) {
    const auto count = static_cast<Index>(end - mid);
    double* columns[4];
    if (!quadratic_ && AreLong(static_cast<Index>(mid - begin), count)) {
      double* rows[4];
      for (std::size_t n = 0; n < 4; ++n) {
        rows[n] = moments_[n].data() + begin;
        columns[n] = moments_[n].data() + mid;
      }
      return kernels_.cauchy_moments(
          sum_.data() + begin, mass_.data() + begin, mass_sum_.data() + begin,
          static_cast<Index>(mid - begin), sum_.data() + mid,
          mass_.data() + mid, mass_sum_.data() + mid, count, rows, columns);
    }
    for (std::size_t n = 0; n < 4; ++n) {
      columns[n] = moments_[n].data() + mid;
      std::fill_n(columns[n], count, 0.0);
    }
    for (std::size_t k = begin; k < mid; ++k) {
      double row[4];
      kernels_.reciprocal_moments(sum_[k], mass_[k], mass_sum_[k],
                                  sum_.data() + mid, mass_.data() + mid,
                                  mass_sum_.data() + mid, count, row, columns);
      for (std::size_t n = 0; n < 4; ++n) moments_[n][k] = row[n];
    }
  }

  // dL/d of what one side has at n: by its mass, its sum of exp(u), and that of
  // exp(u) d.
  struct Sides {
    double mass, sum, weighted_sum;
  };
  Sides DerivativesAt(std::size_t n) const {
    return {weighted_sum_[n] * moments_[0][n] + moments_[1][n],
            -mass_[n] * (weighted_sum_[n] * moments_[2][n] + moments_[3][n]),
            mass_[n] * moments_[0][n]};
  }

  void LeftBackward(std::size_t begin, std::size_t mid) {
    double d_reach = 0, d_sum = 0, d_weighted_sum = 0;
    for (std::size_t k = begin; k < mid; ++k) {
      const Sides d = DerivativesAt(k);
      d_start_[k] += d.mass * reach_[k];
      if (k > begin) d_reach *= passes_[k - 1];
      d_reach += d.mass * start_[k];
      d_passes_[k] += d_reach * (k + 1 < mid ? reach_[k + 1] : 1);
      d_exp_u_[k] += d_sum += d.sum;
      d_weighted_[k] += d_weighted_sum += d.weighted_sum;
    }
  }

  void RightBackward(std::size_t mid, std::size_t end) {
    double d_reach = 0, d_sum = 0, d_weighted_sum = 0;
    for (std::size_t l = end; l-- > mid;) {
      // d_reach is that of the entry behind, whose reach is passes(l) reach(l).
      d_passes_[l] += d_reach * reach_[l];
      const Sides d = DerivativesAt(l);
      d_p_[l] += d.mass * reach_[l];
      d_reach = d.mass * p_[l] + passes_[l] * d_reach;
      d_exp_u_[l] += d_sum += d.sum;
      d_weighted_[l] += d_weighted_sum += d.weighted_sum;
    }
  }

  const Kernels<double>& kernels_ = BestKernels<double>();
  const bool quadratic_;
  Buffer<double> exp_u_, weighted_, passes_;  // exp(u), exp(u) d, 1 - p
  Buffer<double> start_, p_;
  // For a block these are x or y, X or Y, the reach of the scan, A or B, A X or
  // B Y; and sums over the other side.
  Buffer<double> sum_, weighted_sum_, reach_, mass_, mass_sum_;
  std::array<Buffer<double>, 4> moments_;
  Buffer<double> d_start_, d_p_, d_passes_, d_exp_u_, d_weighted_;
};

}  // namespace attnbench::matcha

#endif  // ATTNBENCH_MECHANISMS_MATCHA_MODERATE_GRADIENT_H_
