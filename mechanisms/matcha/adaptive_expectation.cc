#include "mechanisms/matcha/adaptive_expectation.h"

#include <algorithm>
#include <cmath>

#include "mechanisms/matcha/moderate_blocks.h"
#include "mechanisms/matcha/moderate_gradient.h"

namespace attnbench::matcha {
namespace {

// exp(-kWide) and its reciprocal are normal numbers with room for sums.
constexpr double kWide = 600;
// A row has this many independent sums, which can share a register.
constexpr std::size_t kLanes = 8;

template <class Real>
class AdaptiveExpectation final : public ChunkExpectation<Real> {
 public:
  explicit AdaptiveExpectation(bool quadratic)
      : moderate_(quadratic), moderate_gradient_(quadratic) {}

  bool reads_selection_alone() const override { return false; }

  void Forward(const ChoiceRows<Real>& rows,
               const MatrixView<Real>& attention) override {
    for (Index n = 0; n < rows.count(); ++n) {
      ForwardRow(rows.Row(n), attention.Row(n));
    }
  }
  void Backward(const ChoiceRows<Real>& rows,
                const MatrixView<const Real>& d_attention,
                const ChoiceRowsGradient<Real>& gradient) override {
    for (Index n = 0; n < rows.count(); ++n) {
      BackwardRow(rows.Row(n), d_attention.Row(n), gradient.Row(n));
    }
  }

 private:
  void ForwardRow(const ChoiceRow<Real>& row, std::span<Real> attention) {
    if (attention.empty()) return;
    if (moderate_.Take(row)) return moderate_.Forward(row, attention);
    Prepare(row);
    beta_.assign(attention.size(), 0);
    AddBlock(0, attention.size());
    std::ranges::transform(beta_, attention.begin(),
                           [](double x) { return static_cast<Real>(x); });
  }

  void BackwardRow(const ChoiceRow<Real>& row,
                   std::span<const Real> d_attention,
                   const ChoiceRowGradient<Real>& gradient) {
    const std::size_t T = d_attention.size();
    if (T == 0) return;
    if (moderate_gradient_.Take(row)) {
      return moderate_gradient_.Backward(row, d_attention, gradient);
    }
    Prepare(row);
    const auto [least, greatest] = std::ranges::minmax(u_);
    const bool is_wide = !(greatest - least <= kWide);
    for (Buffer<double>* array : {&weight_, &decay_, &sum_, &mean_, &mass_}) {
      array->resize(T);
    }
    d_p_.assign(T, 0);
    d_u_.assign(T, 0);
    if (!is_wide) {
      for (std::size_t j = 0; j < T; ++j)
        weight_[j] = std::exp(u_[j] - greatest);
      std::ranges::fill(decay_, 1.0);
    }
    for (std::size_t k = 0; k < T; ++k) {
      if (is_wide) WeightsFrom(k);
      gradient.start[k] += BackwardFrom(k, d_attention);
    }
    for (std::size_t j = 0; j < T; ++j) {
      gradient.p[j] += static_cast<Real>(d_p_[j]);
      gradient.chunk_energies[j] = static_cast<Real>(d_u_[j]);
    }
  }

  void Prepare(const ChoiceRow<Real>& row) {
    const std::size_t T = row.p.size();
    for (Buffer<double>* array : {&start_, &p_, &passes_, &u_}) {
      array->resize(T);
    }
    for (std::size_t j = 0; j < T; ++j) {
      start_[j] = row.start[j];
      p_[j] = row.p[j];
      passes_[j] = row.Passed(j);
      u_[j] = row.chunk_energies[j];
    }
  }

  // What is left of a scan's mass is dropped below this share of it.
  static constexpr double kNegligible =
      std::is_same_v<Real, float> ? 1e-30 : 1e-150;

  // What of `mass` goes on past entry n.
  double Passed(double mass, std::size_t n) const {
    const double passed = mass * passes_[n];
    return passed < kNegligible ? 0 : passed;
  }

  // ---- forward ----

  // Adds what the pairs (k, l) with lo <= k <= l < hi give.
  void AddBlock(std::size_t lo, std::size_t hi) {
    if (hi - lo == 1) {
      beta_[lo] += start_[lo] * p_[lo];
      return;
    }
    const std::size_t mid = lo + (hi - lo) / 2;
    AddBlock(lo, mid);
    AddBlock(mid, hi);
    mass_.resize(p_.size());
    double left = 1;
    double some = 0;
    std::size_t begin =
        mid;  // the first from which a scan gets past the middle
    while (begin > lo && left > 0) {
      left = Passed(left, --begin);
      some += mass_[begin] = start_[begin] * left;  // A
    }
    if (some == 0) return;
    double right = 1;
    std::size_t end = mid;  // after the last that the scan reaches
    for (; end < hi && right > 0; ++end) {
      mass_[end] = p_[end] * right;  // B
      right = Passed(right, end);
    }
    lo = begin;
    hi = end;
    sum_.resize(p_.size());
    total_.resize(p_.size());
    std::fill(At(total_, lo), At(total_, hi), 0.0);
    const double greatest = *std::max_element(At(u_, lo), At(u_, hi));
    // Every x + y is at least both energies next to the middle.
    if (greatest - std::max(u_[mid - 1], u_[mid]) <= kWide) {
      AddPairs(lo, mid, hi, greatest);
    } else {
      AddWidePairs(lo, mid, hi);
    }
  }

  static typename Buffer<double>::iterator At(Buffer<double>& array,
                                              std::size_t n) {
    return array.begin() + static_cast<std::ptrdiff_t>(n);
  }

  // Adds pairs in plain numbers, with e relative to the greatest of the block.
  void AddPairs(std::size_t lo, std::size_t mid, std::size_t hi,
                double greatest) {
    weight_.resize(p_.size());
    for (std::size_t j = lo; j < hi; ++j)
      weight_[j] = std::exp(u_[j] - greatest);
    double x = 0;
    for (std::size_t k = mid; k-- > lo;) sum_[k] = x += weight_[k];
    double y = 0;
    for (std::size_t l = mid; l < hi; ++l) sum_[l] = y += weight_[l];
    for (std::size_t k = lo; k < mid; ++k) {
      if (mass_[k] != 0) total_[k] = RowSum(sum_[k], mass_[k], mid, hi);
    }
    double before = 0;  // sum over k <= j of the row sums of G
    for (std::size_t j = lo; j < mid; ++j) {
      before += mass_[j] * total_[j];
      beta_[j] += weight_[j] * before;
    }
    double after = 0;  // sum over l >= j of the column sums
    for (std::size_t j = hi; j-- > mid;) {
      after += mass_[j] * total_[j];
      beta_[j] += weight_[j] * after;
    }
  }

  // sum over l of B(l) / (x + y(l)); adds a / (x + y(l)) to every column.
  double RowSum(double x, double a, std::size_t mid, std::size_t hi) {
    const double* const B = mass_.data();
    const double* const y = sum_.data();
    double* const columns = total_.data();
    double lanes[kLanes] = {};
    std::size_t l = mid;
    for (; l + kLanes <= hi; l += kLanes) {
      for (std::size_t n = 0; n < kLanes; ++n) {
        const double reciprocal = 1 / (x + y[l + n]);
        lanes[n] += B[l + n] * reciprocal;
        columns[l + n] += a * reciprocal;
      }
    }
    double row = 0;
    for (const double lane : lanes) row += lane;
    for (; l < hi; ++l) {
      const double reciprocal = 1 / (x + y[l]);
      row += B[l] * reciprocal;
      columns[l] += a * reciprocal;
    }
    return row;
  }

  // Does the same where u spans more than plain numbers do: x and y are kept
  // relative to the greatest u that they hold (limit_), row and column sums
  // relative to its reciprocal.
  void AddWidePairs(std::size_t lo, std::size_t mid, std::size_t hi) {
    limit_.resize(p_.size());
    for (std::size_t k = mid; k-- > lo;) GrowSum(k, k + 1, k + 1 < mid);
    for (std::size_t l = mid; l < hi; ++l) GrowSum(l, l - 1, l > mid);
    for (std::size_t k = lo; k < mid; ++k) {
      if (mass_[k] != 0) total_[k] = WideRowSum(k, mid, hi);
    }
    double before = 0;
    for (std::size_t j = lo; j < mid; ++j) {
      if (j > lo) before *= std::exp(limit_[j] - limit_[j - 1]);
      before += mass_[j] * total_[j];
      beta_[j] += std::exp(u_[j] - limit_[j]) * before;
    }
    double after = 0;
    for (std::size_t j = hi; j-- > mid;) {
      if (j + 1 < hi) after *= std::exp(limit_[j] - limit_[j + 1]);
      after += mass_[j] * total_[j];
      beta_[j] += std::exp(u_[j] - limit_[j]) * after;
    }
  }

  // Makes limit_ and sum_ at n from those at its neighbour.
  void GrowSum(std::size_t n, std::size_t neighbour, bool has_neighbour) {
    limit_[n] = has_neighbour ? std::max(u_[n], limit_[neighbour]) : u_[n];
    sum_[n] = std::exp(u_[n] - limit_[n]);
    if (has_neighbour) {
      sum_[n] += sum_[neighbour] * std::exp(limit_[neighbour] - limit_[n]);
    }
  }

  double WideRowSum(std::size_t k, std::size_t mid, std::size_t hi) {
    double row = 0;
    double shrink = 0;  // exp of minus the distance of the two limits
    double limit = 0;
    for (std::size_t l = mid; l < hi; ++l) {
      if (l == mid || limit_[l] != limit) {
        limit = limit_[l];
        shrink = std::exp(-std::abs(limit - limit_[k]));
      }
      const bool x_leads = limit_[k] >= limit;
      const double of_x = x_leads ? 1 : shrink;
      const double of_y = x_leads ? shrink : 1;
      const double reciprocal = 1 / (sum_[k] * of_x + sum_[l] * of_y);
      row += mass_[l] * of_x * reciprocal;
      total_[l] += mass_[k] * of_y * reciprocal;
    }
    return row;
  }

  // ---- backward ----

  // Makes what sums of e over k..l need, which are kept relative to the
  // greatest u among them: e(l) in that unit, and the unit before in it.
  void WeightsFrom(std::size_t k) {
    double greatest = u_[k];
    for (std::size_t l = k; l < u_.size(); ++l) {
      decay_[l] = u_[l] > greatest ? std::exp(greatest - u_[l]) : 1;
      greatest = std::max(greatest, u_[l]);
      weight_[l] = std::exp(u_[l] - greatest);
    }
  }

  // Goes through all pairs that start at k; returns V(k, k).
  double BackwardFrom(std::size_t k, std::span<const Real> d) {
    double sum = 0;
    double weighted = 0;
    double reached = 1;
    // The last entry that the scan reaches wants V of the next one, so the run
    // goes on until what would have reached that one is gone too.
    bool is_reached = true;
    std::size_t end = k;
    while (end < p_.size()) {
      sum = sum * decay_[end] + weight_[end];
      weighted = weighted * decay_[end] + weight_[end] * d[end];
      sum_[end] = sum;
      mean_[end] = weighted / sum;
      mass_[end] = is_reached ? start_[k] * reached : 0;
      reached = Passed(reached, end);
      ++end;
      if (reached > 0) continue;
      if (!is_reached) break;
      is_reached = false;
      reached = 1;
    }
    double value = 0;        // V(k, l + 1)
    double chosen = 0;       // sum over later l of G(k, l), in the unit of l
    double chosen_mean = 0;  // the same of G(k, l) M(k, l)
    for (std::size_t l = end; l-- > k;) {
      d_p_[l] += mass_[l] * (mean_[l] - value);
      value = p_[l] * mean_[l] + passes_[l] * value;
      if (l + 1 < end) {
        chosen *= decay_[l + 1];
        chosen_mean *= decay_[l + 1];
      }
      const double G = mass_[l] * p_[l] / sum_[l];
      chosen += G;
      chosen_mean += G * mean_[l];
      d_u_[l] += weight_[l] * (d[l] * chosen - chosen_mean);
    }
    return value;
  }

  ModerateBlocks<Real> moderate_;
  ModerateGradient<Real> moderate_gradient_;
  Buffer<double> start_, p_, passes_, u_;  // of the row
  Buffer<double> beta_, d_p_, d_u_;
  // For a block these are A and B; x and y; row and column sums of 1 / (x + y)
  // with B and A; e; the unit of x and y. For a start k they are the mass that
  // arrives at l, S and M.
  Buffer<double> mass_, sum_, total_, weight_, limit_, decay_, mean_;
};

}  // namespace

template <class Real>
std::unique_ptr<ChunkExpectation<Real>> MakeAdaptiveExpectation(
    const Config& config) {
  return std::make_unique<AdaptiveExpectation<Real>>(config.variant == kPairs);
}

template <class Real>
FunctionCost AdaptiveCost(const Config& config) {
  FunctionCost cost = {
      .forward = 8, .backward = 2, .forward_pair = 6, .backward_pair = 18};
  if (config.variant == kPairs) return cost;
  cost.longest_block = kLongestBlock;
  cost.forward_doubling = 2 * 3 * kCauchyTerms<Real>;
  cost.backward_doubling = 6 * 3 * kCauchyMomentTerms<double>;
  return cost;
}

template FunctionCost AdaptiveCost<float>(const Config&);
template FunctionCost AdaptiveCost<double>(const Config&);
template std::unique_ptr<ChunkExpectation<float>> MakeAdaptiveExpectation(
    const Config&);
template std::unique_ptr<ChunkExpectation<double>> MakeAdaptiveExpectation(
    const Config&);

}  // namespace attnbench::matcha
