// Compiled twice: once without vectorisation as ScalarKernels, and once, with
// ATTNBENCH_VECTORIZED, as CompilerKernels.
#include "mechanisms/kernels/scalar_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mechanisms/common/arithmetic.h"

namespace attnbench {
namespace {

using Index = std::int64_t;

template <class Real>
Real Dot(const Real* a, const Real* b, Index dim) {
  Real sum = 0;
  for (Index k = 0; k < dim; ++k) sum += a[k] * b[k];
  return sum;
}

template <class Real>
void DotRows(const Real* query, const Real* rows, Index row_stride, Index count,
             Index dim, Real* energies) {
  for (Index j = 0; j < count; ++j) {
    energies[j] = Dot(query, rows + j * row_stride, dim);
  }
}

template <class Real>
void AdditiveRows(const Real* query, const Real* keys, Index row_stride,
                  const Real* v, Index count, Index dim, Real* energies) {
  for (Index j = 0; j < count; ++j) {
    const Real* key = keys + j * row_stride;
    Real sum = 0;
    for (Index k = 0; k < dim; ++k) sum += v[k] * std::tanh(query[k] + key[k]);
    energies[j] = sum;
  }
}

template <class Real>
void AdditiveBackward(const Real* query, const Real* key, Real weight,
                      Index dim, Real* d_query, Real* d_key, Real* d_v) {
  for (Index k = 0; k < dim; ++k) {
    const Real x = std::tanh(query[k] + key[k]);
    d_v[k] += weight * x;
    d_query[k] += weight * (1 - x * x);
    d_key[k] += weight * (1 - x * x);
  }
}

template <class Real>
void ExpTwice(const Real* x, Real limit, Index count, Real* e) {
  for (Index k = 0; k < count; ++k) {
    e[k] = std::exp(2 * std::clamp(x[k], -limit, limit));
  }
}

template <class Real>
void FactoredAdditiveRows(const Real* exp_query, const Real* exp_keys,
                          Index row_stride, const Real* v, Index count,
                          Index dim, Real* energies) {
  for (Index j = 0; j < count; ++j) {
    const Real* key = exp_keys + j * row_stride;
    Real sum = 0;
    for (Index k = 0; k < dim; ++k) {
      sum += v[k] - 2 * v[k] / (1 + exp_query[k] * key[k]);
    }
    energies[j] = sum;
  }
}

template <class Real>
void FactoredAdditiveBackward(const Real* exp_query, const Real* exp_keys,
                              Index row_stride, const Real* weights,
                              Index count, Index dim, Real* quarter_d_query,
                              Real* quarter_d_keys, Real* half_d_v) {
  for (Index j = 0; j < count; ++j) {
    for (Index k = 0; k < dim; ++k) {
      const Real r = 1 / (1 + exp_query[k] * exp_keys[j * row_stride + k]);
      half_d_v[k] += weights[j] * r;
      quarter_d_query[k] += weights[j] * (r - r * r);
      quarter_d_keys[j * row_stride + k] += weights[j] * (r - r * r);
    }
  }
}

template <class Real>
void AddRows(const Real* weights, const Real* rows, Index row_stride,
             Index count, Index dim, Real* context) {
  for (Index j = 0; j < count; ++j) {
    for (Index k = 0; k < dim; ++k) {
      context[k] += weights[j] * rows[j * row_stride + k];
    }
  }
}

template <class Real>
void Scale(Real factor, Index count, Real* x) {
  for (Index k = 0; k < count; ++k) x[k] *= factor;
}

template <class Real>
void Add(const Real* x, const Real* y, Index count, Real* z) {
  for (Index k = 0; k < count; ++k) z[k] = x[k] + y[k];
}

template <class Real>
void Multiply(const Real* x, const Real* y, Index count, Real* z) {
  for (Index k = 0; k < count; ++k) z[k] = x[k] * y[k];
}

template <class Real>
Real Largest(const Real* x, Index count) {
  Real largest = -std::numeric_limits<Real>::infinity();
  for (Index k = 0; k < count; ++k) largest = std::max(largest, x[k]);
  return largest;
}

template <class Real>
void Range(const Real* x, Index count, Real* smallest, Real* largest) {
  *smallest = std::numeric_limits<Real>::infinity();
  *largest = -*smallest;
  for (Index k = 0; k < count; ++k) {
    if (std::isnan(x[k])) {
      *smallest = *largest = x[k];
      return;
    }
    *smallest = std::min(*smallest, x[k]);
    *largest = std::max(*largest, x[k]);
  }
}

template <class Real>
void ExpScaled(const Real* x, Index count, int power, Real* y) {
  for (Index k = 0; k < count; ++k) {
    y[k] = std::ldexp(std::exp(x[k]), -power);
  }
}

template <class Real>
Real ExpSum(const Real* energies, Real shift, Index count, Real* weights) {
  Real sum = 0;
  for (Index k = 0; k < count; ++k) {
    weights[k] = std::exp(energies[k] - shift);
    sum += weights[k];
  }
  return sum;
}

template <class Real>
void SoftmaxBackward(const Real* alpha, const Real* d, Index count,
                     Real* d_energies) {
  Real mean = 0;
  for (Index j = 0; j < count; ++j) mean += alpha[j] * d[j];
  for (Index j = 0; j < count; ++j) d_energies[j] = alpha[j] * (d[j] - mean);
}

template <class Real>
void Sigmoid(const Real* x, Index count, Real* y, Real* complement) {
  for (Index k = 0; k < count; ++k) {
    const bool is_negative = x[k] < 0;
    const Real z = std::exp(-std::abs(x[k]));
    y[k] = (is_negative ? z : 1) / (1 + z);
    if (complement != nullptr) complement[k] = (is_negative ? 1 : z) / (1 + z);
  }
}

template <class Real>
Carry<Real> Passed(const Real* p, const Real* complement, Index j) {
  return complement == nullptr || p[j] <= Real{0.5} ? 1 - Carry<Real>{p[j]}
                                                    : complement[j];
}

template <class Real>
void Select(const Real* p, const Real* complement, Carry<Real>* start,
            Index count, Real* alpha, Real* arrived) {
  Carry<Real> q = 0;
  for (Index j = 0; j < count; ++j) {
    q += start[j];
    start[j] = p[j] * q;
    alpha[j] = static_cast<Real>(start[j]);
    if (arrived != nullptr) arrived[j] = static_cast<Real>(q);
    q *= Passed(p, complement, j);
  }
}

template <class Real>
void SelectRows(const Real* p, Index p_stride, const Real* complement,
                Carry<Real>* start, Index rows, Index count, Real* alpha,
                Index alpha_stride, Real* arrived, Index arrived_stride) {
  for (Index i = 0; i < rows; ++i) {
    Select(p + i * p_stride,
           complement == nullptr ? nullptr : complement + i * count, start,
           count, alpha + i * alpha_stride,
           arrived == nullptr ? nullptr : arrived + i * arrived_stride);
  }
}

template <class Real>
void SelectBackward(const Real* p, const Real* complement, const Real* arrived,
                    const Real* d_alpha, const Carry<Real>* d_more, Index count,
                    Real* d_p, Carry<Real>* d_start) {
  Carry<Real> dq = 0;
  for (Index j = count; j-- > 0;) {
    Carry<Real> g = d_start[j];
    if (d_alpha != nullptr) g += d_alpha[j];
    if (d_more != nullptr) g += d_more[j];
    d_p[j] = static_cast<Real>(arrived[j] * (g - dq));
    dq = p[j] * g + Passed(p, complement, j) * dq;
    d_start[j] = dq;
  }
}

template <class Real>
void SelectRowsBackward(const Real* p, Index p_stride, const Real* complement,
                        const Real* arrived, Index arrived_stride,
                        const Real* d_alpha, Index d_alpha_stride,
                        const Carry<Real>* d_more, Index rows, Index count,
                        Real* d_p, Index d_p_stride, Carry<Real>* d_start) {
  for (Index i = rows; i-- > 0;) {
    SelectBackward(p + i * p_stride,
                   complement == nullptr ? nullptr : complement + i * count,
                   arrived + i * arrived_stride,
                   d_alpha == nullptr ? nullptr : d_alpha + i * d_alpha_stride,
                   d_more == nullptr ? nullptr : d_more + i * count, count,
                   d_p + i * d_p_stride, d_start);
  }
}

template <class Real>
Real SumOf(const Real* x, Index first, Index end) {
  Real sum = 0;
  for (Index l = first; l < end; ++l) sum += x[l];
  return sum;
}

// The entries of the window that ends or begins at k.
Index WindowBegin(Index k, Index width) {
  return width > k ? 0 : k - width + 1;
}
Index WindowEnd(Index k, Index width, Index count) {
  return width > count - k ? count : k + width;
}

template <class Real>
void SumsFrom(const Real* x, const Real* factors, Index count, Index width,
              Real* /*scratch*/, Real* products) {
  for (Index k = 0; k < count; ++k) {
    products[k] = factors[k] * SumOf(x, k, WindowEnd(k, width, count));
  }
}

template <class Real>
void RatiosUpTo(const Real* x, const Real* numerators, Index count, Index width,
                Real* /*scratch*/, Real* ratios) {
  for (Index k = 0; k < count; ++k) {
    ratios[k] = numerators[k] / SumOf(x, WindowBegin(k, width), k + 1);
  }
}

template <class Real>
void WindowsBackwardOf(const Real* u, int power, const Real* alpha,
                       const Real* d, Index count, Index width,
                       Carry<Real>* d_alpha, Real* d_u) {
  std::fill_n(d_u, count, Real{0});
  const auto e = [=](Index j) { return std::ldexp(std::exp(u[j]), -power); };
  for (Index k = 0; k < count; ++k) {
    Real D = 0, mean = 0;
    for (Index l = WindowBegin(k, width); l <= k; ++l) {
      D += e(l);
      mean += e(l) * d[l];
    }
    mean /= D;
    d_alpha[k] = mean;
    for (Index l = WindowBegin(k, width); l <= k; ++l) {
      d_u[l] += alpha[k] * e(l) / D * (d[l] - mean);
    }
  }
}

template <class Real>
void WindowsBackward(const Real* u, Index u_stride, const int* powers,
                     const Real* alpha, Index alpha_stride, const Real* d_beta,
                     Index d_beta_stride, Index rows, Index count, Index width,
                     double* /*scratch*/, Carry<Real>* d_alpha,
                     Index d_alpha_stride, Real* d_u, Index d_u_stride) {
  for (Index n = 0; n < rows; ++n) {
    WindowsBackwardOf(u + n * u_stride, powers[n], alpha + n * alpha_stride,
                      d_beta + n * d_beta_stride, count, width,
                      d_alpha + n * d_alpha_stride, d_u + n * d_u_stride);
  }
}

template <class Real>
void ReciprocalSums(const Real* x, const Real* a, Index rows, const Real* y,
                    const Real* b, Index count, Real* row_sums,
                    Real* column_sums) {
  for (Index k = 0; k < rows; ++k) {
    row_sums[k] = 0;
    for (Index l = 0; l < count; ++l) {
      const Real reciprocal = 1 / (x[k] + y[l]);
      row_sums[k] += b[l] * reciprocal;
      column_sums[l] += a[k] * reciprocal;
    }
  }
}

template <class Real>
void ReciprocalMoments(Real x, Real a, Real a2, const Real* y, const Real* b,
                       const Real* b2, Index count, Real row_sums[4],
                       Real* const column_sums[4]) {
  std::fill_n(row_sums, 4, Real{0});
  for (Index l = 0; l < count; ++l) {
    const Real r = 1 / (x + y[l]);
    row_sums[0] += b[l] * r;
    row_sums[1] += b2[l] * r;
    row_sums[2] += b[l] * r * r;
    row_sums[3] += b2[l] * r * r;
    column_sums[0][l] += a * r;
    column_sums[1][l] += a2 * r;
    column_sums[2][l] += a * r * r;
    column_sums[3][l] += a2 * r * r;
  }
}

template <class Real>
void CauchySums(const Real* x, const Real* a, Index rows, const Real* y,
                const Real* b, Index count, Real* row_sums, Real* column_sums) {
  std::fill_n(column_sums, count, Real{0});
  ReciprocalSums(x, a, rows, y, b, count, row_sums, column_sums);
}

template <class Real>
void CauchyMoments(const Real* x, const Real* a, const Real* a2, Index rows,
                   const Real* y, const Real* b, const Real* b2, Index count,
                   Real* const row_sums[4], Real* const column_sums[4]) {
  for (int n = 0; n < 4; ++n) std::fill_n(column_sums[n], count, Real{0});
  for (Index k = 0; k < rows; ++k) {
    Real row[4];
    ReciprocalMoments(x[k], a[k], a2[k], y, b, b2, count, row, column_sums);
    for (int n = 0; n < 4; ++n) row_sums[n][k] = row[n];
  }
}

// The entry behind the block of k.
Index EndOfBlock(Index k, Index count) {
  return std::min(count, (k / kAdaptiveBlock + 1) * kAdaptiveBlock);
}

template <class Real>
void AdaptiveBlocks(const Real* e, const Real* start, const Real* p,
                    const double* passed, Index count, Real* beta) {
  for (Index k = 0; k < count; ++k) {
    Real mass = start[k];
    Real sum = 0;
    for (Index l = k; l < EndOfBlock(k, count); ++l) {
      sum += e[l];
      for (Index j = k; j <= l; ++j) beta[j] += mass * p[l] / sum;
      mass *= static_cast<Real>(passed[l]);
    }
  }
}

template <class Real>
void AdaptiveBlocksBackward(const Real* e, const Real* weighted,
                            const Real* start, const Real* p,
                            const double* passed, Index count, Real* d_e,
                            Real* d_weighted, Real* d_start, Real* d_p) {
  for (Index k = 0; k < count; ++k) {
    Real reached = 1;  // the product of `passed` over k..l-1
    Real sum = 0, weighted_sum = 0;
    for (Index l = k; l < EndOfBlock(k, count); ++l) {
      sum += e[l];
      weighted_sum += weighted[l];
      const Real mean = weighted_sum / sum;
      const Real G = start[k] * p[l] * reached / sum;
      for (Index j = k; j <= l; ++j) {
        d_weighted[j] += G;
        d_e[j] -= G * mean;
      }
      d_start[k] += p[l] * reached * mean;
      d_p[l] += start[k] * reached * mean;
      // Through `passed` of each entry before l.
      for (Index n = k; n < l; ++n) {
        Real others = 1;
        for (Index m = k; m < l; ++m) {
          if (m != n) others *= static_cast<Real>(passed[m]);
        }
        d_p[n] -= start[k] * p[l] * others * mean;
      }
      reached *= static_cast<Real>(passed[l]);
    }
  }
}

template <class Real>
constexpr Kernels<Real> kTable = {
    .lanes = 1,
    .dot_rows = &DotRows<Real>,
    .additive_rows = &AdditiveRows<Real>,
    .additive_backward = &AdditiveBackward<Real>,
    .exp_twice = &ExpTwice<Real>,
    .factored_additive_rows = &FactoredAdditiveRows<Real>,
    .factored_additive_backward = &FactoredAdditiveBackward<Real>,
    .add_rows = &AddRows<Real>,
    .scale = &Scale<Real>,
    .add = &Add<Real>,
    .multiply = &Multiply<Real>,
    .largest = &Largest<Real>,
    .range = &Range<Real>,
    .exp_sum = &ExpSum<Real>,
    .exp_scaled = &ExpScaled<Real>,
    .softmax_backward = &SoftmaxBackward<Real>,
    .sigmoid = &Sigmoid<Real>,
    .select_rows = &SelectRows<Real>,
    .select_rows_backward = &SelectRowsBackward<Real>,
    .sums_from = &SumsFrom<Real>,
    .ratios_up_to = &RatiosUpTo<Real>,
    .windows_backward = &WindowsBackward<Real>,
    .reciprocal_sums = &ReciprocalSums<Real>,
    .reciprocal_moments = &ReciprocalMoments<Real>,
    .cauchy_sums = &CauchySums<Real>,
    .cauchy_moments = &CauchyMoments<Real>,
    .adaptive_blocks = &AdaptiveBlocks<Real>,
    .adaptive_blocks_backward = &AdaptiveBlocksBackward<Real>};

}  // namespace

#ifdef ATTNBENCH_VECTORIZED
template <class Real>
const Kernels<Real>& CompilerKernels() {
  return kTable<Real>;
}
template const Kernels<float>& CompilerKernels();
template const Kernels<double>& CompilerKernels();
#else
template <class Real>
const Kernels<Real>& ScalarKernels() {
  return kTable<Real>;
}
template const Kernels<float>& ScalarKernels();
template const Kernels<double>& ScalarKernels();
template const Kernels<long double>& ScalarKernels();
#endif

}  // namespace attnbench
