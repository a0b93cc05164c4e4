// The inner loops that all mechanisms share, one function table per precision
// and SIMD level. Written once for Google Highway and compiled for every level;
// the level is chosen when a table is asked for, not in the loops, so a caller
// pays one indirect call a block of rows. Kernels do not allocate, throw, print
// or read the environment.
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
  // energies[j] = query . rows[j] for j in [0, count).
  // Error at most (dim / (4 N) + log2(4 N) + 3) u sum |query[k] rows[j][k]|.
  void (*dot_rows)(const Real* query, const Real* rows, std::int64_t row_stride,
                   std::int64_t count, std::int64_t dim, Real* energies);

  // energies[j] = v . tanh(query + keys[j]), MAD eq 15 with W s in `query` and
  // V h + b in `keys`. The tanh is good to 5 ULP.
  void (*additive_rows)(const Real* query, const Real* keys,
                        std::int64_t row_stride, const Real* v,
                        std::int64_t count, std::int64_t dim, Real* energies);

  // context += sum over j of weights[j] rows[j], j in increasing order for each
  // element.
  void (*add_rows)(const Real* weights, const Real* rows,
                   std::int64_t row_stride, std::int64_t count,
                   std::int64_t dim, Real* context);

  // x *= factor.
  void (*scale)(Real factor, std::int64_t count, Real* x);

  // The largest of x; -infinity where count is 0.
  Real (*largest)(const Real* x, std::int64_t count);

  // weights = exp(energies - shift), 0 where that underflows; returns their
  // sum. `weights` may be `energies`; shift is at least the largest energy.
  // Error of a weight: 3 ULP beyond that of the rounded difference.
  Real (*exp_sum)(const Real* energies, Real shift, std::int64_t count,
                  Real* weights);

  // y = 1 / (1 + exp(-x)), without overflow for any finite x. `y` may be `x`.
  void (*sigmoid)(const Real* x, std::int64_t count, Real* y);
};

// The kernels of the best level that this CPU has.
template <class Real>
const Kernels<Real>& BestKernels();

// Names of the levels that this CPU has and this program was built with, best
// first, and the kernels of one of them (another name is a bug): for tests.
std::vector<std::string> SimdLevels();
template <class Real>
const Kernels<Real>& KernelsAt(const std::string& level);

// The name of the best level.
std::string SimdName();

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_KERNELS_KERNELS_H_
