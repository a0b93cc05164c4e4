// MoChA's beta as it was published, in three variants, and as it should be for
// an alpha that is not exact:
//
//   nested      eq 17 as it is written: exp(u) raw, sums by loops
//   moving_sum  eqs 19 and 25: exp(u) raw, moving sums (eq 18) as differences
//               of cumulative sums
//   clipped     the authors' notebook: exp(u - largest u of the row), at least
//               1e-5; moving sums as a convolution with ones
//   parallel    eq 17, with the largest energy of each chunk subtracted
//
// The published ones are kept as they are, to be measured: exp(u) overflows, or
// a chunk sums to 0, and the result is not finite; a difference of cumulative
// sums keeps few digits; clipping gives an entry that should have no weight as
// much as its neighbours have.
#ifndef ATTNBENCH_MECHANISMS_MOCHA_PUBLISHED_WINDOW_H_
#define ATTNBENCH_MECHANISMS_MOCHA_PUBLISHED_WINDOW_H_

#include <span>

#include "mechanisms/monotonic/published_expectation.h"

namespace attnbench::mocha {

// MovingSum(x, b, f)(n) = sum over m = n-(b-1)..n+f-1 of x(m), as far as there
// are such entries (eq 18): b and f >= 1 both count n itself.
template <class Number>
using MovingSum = Buffer<Number> (*)(std::span<const Number> x, Index b,
                                     Index f);
// Takes O(T): each is the difference of two cumulative sums.
template <class Number>
Buffer<Number> MovingSumByDifferences(std::span<const Number> x, Index b,
                                      Index f);
// Takes O(T (b + f)): each is summed on its own.
template <class Number>
Buffer<Number> MovingSumByConvolution(std::span<const Number> x, Index b,
                                      Index f);

// This is a PublishedChunk: it writes beta [T] of config.variant for
// w is option chunk_width. Number is float, double, Dual<float> or
// Dual<double>. It takes O(T w), and under moving_sum O(T).
template <class Number>
void PublishedWindow(const Config& config, const PublishedRow<Number>& row,
                     std::span<Number> attention);

}  // namespace attnbench::mocha

#endif  // ATTNBENCH_MECHANISMS_MOCHA_PUBLISHED_WINDOW_H_
