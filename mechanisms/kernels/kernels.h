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
#include <type_traits>
#include <vector>

namespace attnbench {

// What goes on from entry to entry of a row, or from row to row, is kept in at
// least f64: rounded in f32, it would lose as much again at each of them.
template <class Real>
using Carry = std::conditional_t<std::is_same_v<Real, float>, double, Real>;

// Sizes and strides are in elements. Largest errors are against exact
// arithmetic, u being half the machine epsilon and N the lanes; those with
// names are in error_bounds.h, which counts the roundings. Beyond them an
// operation may add half the least number where it underflows. The program
// kernel_errors measures them (docs/verification.md).
//
// A kernel takes any finite numbers, denormal ones too, unless it says which;
// of others it makes numbers that mean nothing, and says nothing. Sums and
// products that are too large are infinite. What depends on a NaN is NaN.
// tests/mechanisms/kernels/kernel_ends_test.cc goes to the ends of the ranges.
template <class Real>
struct Kernels {
  // The numbers in a vector.
  std::int64_t lanes;

  // energies[j] = query . rows[j] for j in [0, count). The error is at most
  // DotError(dim, N) u sum |query[k] rows[j][k]|.
  void (*dot_rows)(const Real* query, const Real* rows, std::int64_t row_stride,
                   std::int64_t count, std::int64_t dim, Real* energies);

  // energies[j] = v . tanh(query + keys[j]), MAD eq 15 with W s in `query` and
  // V h + b in `keys`. The tanh is good to kTanhUlp; that of a denormal number
  // is that number, that of infinity 1.
  void (*additive_rows)(const Real* query, const Real* keys,
                        std::int64_t row_stride, const Real* v,
                        std::int64_t count, std::int64_t dim, Real* energies);

  // Makes the gradient of one such energy: with x = tanh(query + key), adds
  // weight x to d_v, and weight (1 - x^2), which lacks the factor v, to d_query
  // and d_key. The error is that of the tanh, and kAdditiveBackwardError u of
  // the weight and of the sum.
  void (*additive_backward)(const Real* query, const Real* key, Real weight,
                            std::int64_t dim, Real* d_query, Real* d_key,
                            Real* d_v);

  // e = exp(2 x) to kExpUlp, with x, which may be infinite, clamped to
  // [-limit, limit], and limit at most kMostQuery.
  void (*exp_twice)(const Real* x, Real limit, std::int64_t count, Real* e);

  // Makes the energies of additive_rows from exp(2 query) and exp(2 key), by
  // tanh(a + b) = 1 - 2 / (1 + exp(2a) exp(2b)). With those of exp_twice the
  // error is at most FactoredRowsError(dim, N) u sum |v[k]|; ordinary inputs
  // stay far below it (results/kernel_errors.txt). a and b are at most
  // kMostQuery and kMostKey, and |v| kMostV; beyond kMostQuery it is enough to
  // clamp a.
  void (*factored_additive_rows)(const Real* exp_query, const Real* exp_keys,
                                 std::int64_t row_stride, const Real* v,
                                 std::int64_t count, std::int64_t dim,
                                 Real* energies);

  // Makes the gradients of `count` such energies: with r = 1 / (1 + exp_query
  // exp_keys[j]), adds weights[j] r to half_d_v, and weights[j] (r - r^2) to
  // quarter_d_query and quarter_d_keys[j]. The names say what is left out: the
  // caller multiplies by -2 and by 4. A pair errs by FactoredBackwardError(0) u
  // of its weight, the sums over pairs by FactoredBackwardError(count) u of
  // sum |weights| and of what they held.
  void (*factored_additive_backward)(const Real* exp_query,
                                     const Real* exp_keys,
                                     std::int64_t row_stride,
                                     const Real* weights, std::int64_t count,
                                     std::int64_t dim, Real* quarter_d_query,
                                     Real* quarter_d_keys, Real* half_d_v);

  // context += sum over j of weights[j] rows[j], j in increasing order for each
  // element.
  void (*add_rows)(const Real* weights, const Real* rows,
                   std::int64_t row_stride, std::int64_t count,
                   std::int64_t dim, Real* context);

  // x *= factor.
  void (*scale)(Real factor, std::int64_t count, Real* x);

  // z = x + y and x y, element by element. `z` may be `x` or `y`.
  void (*add)(const Real* x, const Real* y, std::int64_t count, Real* z);
  void (*multiply)(const Real* x, const Real* y, std::int64_t count, Real* z);

  // The largest of x; -infinity where count is 0. A NaN among them may be
  // passed over.
  Real (*largest)(const Real* x, std::int64_t count);

  // The smallest and the largest of x; infinity and -infinity where count is 0,
  // and NaN both if any x is.
  void (*range)(const Real* x, std::int64_t count, Real* smallest,
                Real* largest);

  // weights = exp(energies - shift); returns their sum. `weights` may be
  // `energies`; no energy exceeds the shift by more than 88 (700 in f64), and
  // where one does at all the sum may overflow. A difference below
  // kLeastExponent weighs 0 in the SIMD kernels, where exact weights are less
  // than the least normal number; energies may be -infinity, the shift may not
  // be. Other weights err by kExpUlp beyond the error of the rounded
  // difference, and the sum of the weights by SumError(count, N) u.
  Real (*exp_sum)(const Real* energies, Real shift, std::int64_t count,
                  Real* weights);

  // y = exp(x) 2^-power to kExpUlp, for |x| up to 80 (600 in f64) and results
  // that are normal numbers.
  void (*exp_scaled)(const Real* x, std::int64_t count, int power, Real* y);

  // d_energies(j) = alpha(j) (d(j) - m), m = sum over k of alpha(k) d(k): what
  // a softmax hands back. Sum and difference are in f64: m errs by at most
  // SoftmaxBackwardError(count, N) of its units of sum |alpha d|, N counting
  // f64 lanes, and the difference, the product and its rounding by a unit each.
  void (*softmax_backward)(const Real* alpha, const Real* d, std::int64_t count,
                           Real* d_energies);

  // y = 1 / (1 + exp(-x)), for infinite x too, and 1 - y to the same relative
  // precision unless `complement` is null. `y` may be `x`. The error is
  // kSigmoidUlp where exp(-|x|) is a normal number, else the least of these:
  // where -|x| is below kLeastExponent, the SIMD kernels make 0 and 1.
  void (*sigmoid)(const Real* x, std::int64_t count, Real* y, Real* complement);

  // The mass that arrives at each entry and is chosen there (MAD eqs 9-10), of
  // several rows, each of which starts with the alpha of the one before it:
  //   q(j) = (1 - p(j-1)) q(j-1) + start(j),  alpha(j) = p(j) q(j).
  // `start` is that of the first row; it is replaced by that of the row behind
  // the last, which is alpha before it is rounded. `complement` has 1 - p for p
  // above a half, rows one after another; null: 1 minus p. q goes to `arrived`
  // unless that is null. q is carried in f64 whatever the precision: from the
  // start of the first, the relative error of row i is at most
  // SelectError(i + 1, count) of its units and a rounding to Real. Nothing is
  // computed where no mass is, or less than rounds to 0 in Real. A row's bits
  // do not depend on how many there are. p is within 0 and 1, starts are not
  // negative.
  void (*select_rows)(const Real* p, std::int64_t p_stride,
                      const Real* complement, Carry<Real>* start,
                      std::int64_t rows, std::int64_t count, Real* alpha,
                      std::int64_t alpha_stride, Real* arrived,
                      std::int64_t arrived_stride);

  // Does the same backwards, from the last row to the first, with q in
  // `arrived`. Alpha is where the next row starts, so its derivative is the sum
  // g = d_alpha + d_more + d_start of the row behind (null: zeros):
  //   dq(j) = p(j) g(j) + (1 - p(j)) dq(j+1)
  //   d_p(j) = q(j) (g(j) - dq(j+1)),  d_start(j) = dq(j).
  // `d_start` has dL/d of where the row behind the last starts; it is replaced
  // by that of where the first does. Rows of `complement` and `d_more` are one
  // after another. Let G and M be what the recurrence makes of magnitudes in
  // the place of g and dq. After n rows d_start errs by at most
  // SelectError(n, count) units of f64 of M(j), if it was exact at first, and
  // d_p by 2 units more of q(j) (G(j) + M(j+1)) and by a rounding to Real: with
  // q of select_rows by SelectGradientError(rows, count) and two roundings.
  // Denormal numbers in the arrays, and d_p that would be denormal, are taken
  // for 0. A row's bits do not depend on how many there are.
  void (*select_rows_backward)(const Real* p, std::int64_t p_stride,
                               const Real* complement, const Real* arrived,
                               std::int64_t arrived_stride, const Real* d_alpha,
                               std::int64_t d_alpha_stride,
                               const Carry<Real>* d_more, std::int64_t rows,
                               std::int64_t count, Real* d_p,
                               std::int64_t d_p_stride, Carry<Real>* d_start);

  // products(k) = factors(k) sum of x(l) over l = k..min(k+width-1, count-1);
  // width >= 1. `scratch` holds min(width, count) + 1 numbers. This takes
  // O(count) whatever the width. For x >= 0 the error is at most
  // WindowError(width, N) u of the sum, however small it is beside other
  // entries, and that of the product.
  void (*sums_from)(const Real* x, const Real* factors, std::int64_t count,
                    std::int64_t width, Real* scratch, Real* products);

  // ratios(k) = numerators(k) / sum of x(l) over l = max(0, k-width+1)..k. They
  // err by kRatioError u more than the sums, which must be within 2^-126 and
  // 2^125 (2^-1022 and 2^1021 in f64).
  void (*ratios_up_to)(const Real* x, const Real* numerators,
                       std::int64_t count, std::int64_t width, Real* scratch,
                       Real* ratios);

  // Takes MoChA's expectation (its eq 17) backwards for several rows by
  // themselves: with e = exp(u), D(k) the sum of e over window k =
  // max(0, k-width+1)..k, and d = dL/d beta,
  //   m(k) = sum over l in window k of e(l) d(l) / D(k),  d_alpha(k) = m(k)
  //   d_u(j) = e(j) sum over k = j..min(j+width-1, count-1) of
  //            alpha(k) / D(k) (d(j) - m(k)).
  // The e of row n are kept times 2^-powers[n]: the largest is to be about 1,
  // and |u| up to 80 within 60 (600 and 400 in f64). All is in f64: m errs by
  // WindowsBackwardError(min(width, count)) units of f64 of the same mean of
  // |d|, d_u of the same sums of |d| and of these means, unless a term
  // underflows, and by a rounding to Real. A row's bits do not depend on the
  // rows beside it. `scratch` holds WindowsBackwardScratch(width, count)
  // numbers, best from the beginning of a cache line on.
  void (*windows_backward)(const Real* u, std::int64_t u_stride,
                           const int* powers, const Real* alpha,
                           std::int64_t alpha_stride, const Real* d_beta,
                           std::int64_t d_beta_stride, std::int64_t rows,
                           std::int64_t count, std::int64_t width,
                           double* scratch, Carry<Real>* d_alpha,
                           std::int64_t d_alpha_stride, Real* d_u,
                           std::int64_t d_u_stride);

  // Over all pairs of k in [0, rows) and l in [0, count), x and y positive:
  //   row_sums(k) = sum over l of b(l) / (x(k) + y(l))
  //   column_sums(l) += sum over k of a(k) / (x(k) + y(l)).
  // For x + y in [2^-126, 2^125] in f32 a reciprocal errs by kReciprocalError
  // u, row sums by ReciprocalRowError(count, N) u of the sum of magnitudes, and
  // column sums by ReciprocalColumnError(rows) u of it and of what they held.
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

  // Makes the sums of reciprocal_sums, both written, in near-linear time; x and
  // y are each in rising or in falling order, within 2^-60 and 2^60 (2^-450 and
  // 2^450 in f64). The error is at most kCauchyError of the same sum of
  // magnitudes, in which a weight counts as no less than the least normal
  // number.
  void (*cauchy_sums)(const Real* x, const Real* a, std::int64_t rows,
                      const Real* y, const Real* b, std::int64_t count,
                      Real* row_sums, Real* column_sums);

  // Does the same of reciprocal_moments, over all k; the sums with squares err
  // by kCauchySquareError. In f32 x and y are within 2^-50 and 2^50.
  void (*cauchy_moments)(const Real* x, const Real* a, const Real* a2,
                         std::int64_t rows, const Real* y, const Real* b,
                         const Real* b2, std::int64_t count,
                         Real* const row_sums[4], Real* const column_sums[4]);

  // Takes MAtChA's pairs (k, l) of the same block of kAdaptiveBlock entries,
  // with e > 0 and S(k, l) the sum of e over k..l:
  //   G(k, l) = start(k) p(l) prod over n = k..l-1 of passed(n) / S(k, l),
  //   beta(j) += sum over k <= j <= l of G(k, l).
  // What is added is computed in f64: its relative error is at most
  // kAdaptiveError of its units and a rounding to Real, unless a mass
  // underflows in f64.
  void (*adaptive_blocks)(const Real* e, const Real* start, const Real* p,
                          const double* passed, std::int64_t count, Real* beta);

  // Adds the derivatives of sum over j of weighted(j) beta(j), with p moving
  // against `passed`. They err by kAdaptiveBackwardError units of f64 of the
  // same sum of magnitudes and by a rounding to Real.
  void (*adaptive_blocks_backward)(const Real* e, const Real* weighted,
                                   const Real* start, const Real* p,
                                   const double* passed, std::int64_t count,
                                   Real* d_e, Real* d_weighted, Real* d_start,
                                   Real* d_p);
};

// exp of anything less is 0 in exp_sum and sigmoid: from a little above it is
// no normal number.
template <class Real>
inline constexpr Real kLeastExponent = sizeof(Real) == sizeof(float)
                                           ? Real(-87.5)
                                           : Real(-708.5);

// exp of twice these is a number, and so is exp of twice their difference: what
// lies beyond is saturated.
template <class Real>
inline constexpr Real kMostQuery = sizeof(Real) == sizeof(float) ? 43 : 345;
template <class Real>
inline constexpr Real kMostKey = sizeof(Real) == sizeof(float) ? 31 : 320;
template <class Real>
inline constexpr double kMostV = sizeof(Real) == sizeof(float) ? 0x1p60
                                                               : 0x1p500;

inline constexpr std::int64_t kAdaptiveBlock = 16;

// For eight rows, a lane of AVX-512 each: where windows begin at the first
// entry, four numbers an entry of the memory, else six for each of the two
// blocks that are kept, and two more of one, these being up to 64 entries
// longer than the window.
constexpr std::int64_t WindowsBackwardScratch(std::int64_t width,
                                              std::int64_t count) {
  return 8 * (width < count ? 14 * width + 8 * 70 : 4 * (count + 8));
}

// Terms of the expansions of cauchy_sums and of cauchy_moments.
template <class Real>
inline constexpr int kCauchyTerms = sizeof(Real) == sizeof(float) ? 9 : 18;
template <class Real>
inline constexpr int kCauchyMomentTerms = sizeof(Real) == sizeof(float) ? 14
                                                                        : 22;

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
