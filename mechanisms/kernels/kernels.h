// The inner loops that all mechanisms share, one function table per precision
// and SIMD level. They are written once for Google Highway and compiled for
// every level; the level is chosen when a table is asked for, not in the loops,
// so a caller pays one indirect call a block of rows. Kernels do not allocate,
// throw, print or read the environment.
//
// Rows may be unaligned and of any length; nothing is read past `dim`.
//
// Every result for one row or one element is computed in an order that depends
// on `dim` alone, never on how rows are grouped into calls: appending a memory
// in pieces gives the same bits as appending it whole.
#ifndef ATTNBENCH_MECHANISMS_KERNELS_KERNELS_H_
#define ATTNBENCH_MECHANISMS_KERNELS_KERNELS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace attnbench {

// Sizes and strides are in elements. Largest errors are against exact
// arithmetic, u being half the machine epsilon and N the lanes of the level.
template <class Real>
struct Kernels {
  // energies[j] = query . rows[j] for j in [0, count). The error is at most
  // (dim / (4 N) + log2(4 N) + 3) u sum |query[k] rows[j][k]|.
  void (*dot_rows)(const Real* query, const Real* rows, std::int64_t row_stride,
                   std::int64_t count, std::int64_t dim, Real* energies);

  // energies[j] = v . tanh(query + keys[j]), MAD eq 15 with W s in `query` and
  // V h + b in `keys`. The tanh is good to 4 ULP.
  void (*additive_rows)(const Real* query, const Real* keys,
                        std::int64_t row_stride, const Real* v,
                        std::int64_t count, std::int64_t dim, Real* energies);

  // Makes the gradient of one such energy: with x = tanh(query + key), adds
  // weight x to d_v, and weight (1 - x^2), which lacks the factor v, to d_query
  // and d_key. The error is that of the tanh, and 3 u of the weight and of the
  // sum.
  void (*additive_backward)(const Real* query, const Real* key, Real weight,
                            std::int64_t dim, Real* d_query, Real* d_key,
                            Real* d_v);

  // context += sum over j of weights[j] rows[j], j in increasing order for each
  // element.
  void (*add_rows)(const Real* weights, const Real* rows,
                   std::int64_t row_stride, std::int64_t count,
                   std::int64_t dim, Real* context);

  // x *= factor.
  void (*scale)(Real factor, std::int64_t count, Real* x);

  // z = x + y, x y and x / y, element by element. `z` may be `x` or `y`.
  void (*add)(const Real* x, const Real* y, std::int64_t count, Real* z);
  void (*multiply)(const Real* x, const Real* y, std::int64_t count, Real* z);
  void (*divide)(const Real* x, const Real* y, std::int64_t count, Real* z);

  // The largest of x; -infinity where count is 0.
  Real (*largest)(const Real* x, std::int64_t count);

  // The smallest of x; infinity where count is 0.
  Real (*smallest)(const Real* x, std::int64_t count);

  // weights = exp(energies - shift), 0 where that underflows; returns their
  // sum. `weights` may be `energies`; no energy exceeds the shift by more than
  // 88 (700 in f64), and where one does at all the sum may overflow. A weight
  // errs by 3 ULP beyond the error of the rounded difference.
  Real (*exp_sum)(const Real* energies, Real shift, std::int64_t count,
                  Real* weights);

  // y = 1 / (1 + exp(-x)), without overflow for any finite x, and 1 - y to the
  // same relative precision unless `complement` is null. `y` may be `x`. The
  // error is 4 ULP, as long as exp(-|x|) is a normal number.
  void (*sigmoid)(const Real* x, std::int64_t count, Real* y, Real* complement);

  // The mass that arrives at each entry and is chosen there (MAD eqs 9-10):
  //   q(j) = (1 - p(j-1)) q(j-1) + start(j),  alpha(j) = p(j) q(j).
  // `complement` has 1 - p for p above a half; null: 1 minus p. q goes to
  // `arrived` unless that is null. It is carried in f64 whatever the precision:
  // the relative error is at most 4 (count + 1) of its units, and two
  // roundings. Nothing is computed where no mass is, or less than rounds to 0
  // in Real.
  void (*select)(const Real* p, const Real* complement, const Real* start,
                 std::int64_t count, Real* alpha, Real* arrived);

  // Does the same backwards, with q in `arrived`:
  //   dq(j) = p(j) d_alpha(j) + (1 - p(j)) dq(j+1)
  //   d_p(j) = q(j) (d_alpha(j) - dq(j+1)),  d_start(j) = dq(j).
  void (*select_backward)(const Real* p, const Real* complement,
                          const Real* arrived, const Real* d_alpha,
                          std::int64_t count, Real* d_p, Real* d_start);

  // sums(k) = sum of x(l) over l = max(0, k-width+1)..k, and over
  // l = k..min(k+width-1, count-1); width >= 1. `scratch` holds
  // min(width, count) + 1 numbers. This takes O(count) whatever the width. For
  // x >= 0 the error is at most 20 u + width / N units of f64 of the sum,
  // however small it is beside other entries.
  void (*sums_up_to)(const Real* x, std::int64_t count, std::int64_t width,
                     Real* scratch, Real* sums);
  void (*sums_from)(const Real* x, std::int64_t count, std::int64_t width,
                    Real* scratch, Real* sums);

  // Over all pairs of k in [0, rows) and l in [0, count), x and y positive:
  //   row_sums(k) = sum over l of b(l) / (x(k) + y(l))
  //   column_sums(l) += sum over k of a(k) / (x(k) + y(l)).
  // A reciprocal errs by 3 ULP, for x + y in [2^-126, 2^125] in f32.
  void (*reciprocal_sums)(const Real* x, const Real* a, std::int64_t rows,
                          const Real* y, const Real* b, std::int64_t count,
                          Real* row_sums, Real* column_sums);

  // Takes one k against all l, with r = 1 / (x + y(l)) and two weights each, as
  // the gradient wants them:
  //   row_sums = sums over l of b(l) r, b2(l) r, b(l) r^2, b2(l) r^2
  //   column_sums[n](l) += a r, a2 r, a r^2, a2 r^2 for n = 0..3.
  void (*reciprocal_moments)(Real x, Real a, Real a2, const Real* y,
                             const Real* b, const Real* b2, std::int64_t count,
                             Real row_sums[4], Real* const column_sums[4]);
};

// The kernels of the best level that this CPU has.
template <class Real>
const Kernels<Real>& BestKernels();

// Names of the levels that this CPU has and this program was built with, best
// first, and the kernels of one of them (another name is a bug): for tests.
std::vector<std::string> SimdLevels();
template <class Real>
const Kernels<Real>& KernelsAt(const std::string& level);

// The name of the level that BestKernels uses.
std::string SimdName();

// Makes `level`, one of SimdLevels(), the level that BestKernels uses and the
// only one there is. Call it before anything asks for kernels.
void ForceSimdLevel(const std::string& level);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_KERNELS_KERNELS_H_
