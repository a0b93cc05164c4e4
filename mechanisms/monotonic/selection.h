// The training expectation of the monotonic scan, one output at a time: start
// distribution in, alpha and next start out, and backwards.
//
//   q(j)     = (1 - p(j-1)) q(j-1) + start(j)     the mass that arrives at j
//   alpha(j) = p(j) q(j)                          (MAD eqs 9-10, appendix C)
//
// There is no division and no clipping, and it takes O(T). The gradient is the
// same recurrence backwards, a convex combination, so it cannot explode:
//
//   dq(j) = p(j) dalpha(j) + (1 - p(j)) dq(j+1)
//   dp(j) = q(j) (dalpha(j) - dq(j+1)),  dstart(j) = dq(j)
//
// Both are kernels (select_rows, select_rows_backward). Under `absorb` and
// `stay_last` the next start is alpha. Here is what `restart` adds: what chose
// nothing starts again where it started,
//
//   next(k) = alpha(k) + start(k) prod over n >= k of (1 - p(n)).
//
// All arrays are [T].
#ifndef ATTNBENCH_MECHANISMS_MONOTONIC_SELECTION_H_
#define ATTNBENCH_MECHANISMS_MONOTONIC_SELECTION_H_

#include <span>

#include "mechanisms/monotonic/chunk_expectation.h"

namespace attnbench {

// Adds to `next`, which holds alpha, what starts again where the row did.
template <class Number>
void Restart(const ChoiceRow<Number>& row, std::span<const Carry<Number>> start,
             std::span<Carry<Number>> next) {
  Carry<Number> reaches_end = 1;
  for (std::size_t k = next.size(); k-- > 0;) {
    reaches_end *= row.Passed(k);
    const Carry<Number> again = start[k] * reaches_end;
    // Less mass than rounds to 0 goes no further.
    if (static_cast<Number>(again) != 0) next[k] += again;
  }
}

// Adds to gradient.start and .p what follows from d_next; what follows for
// alpha is d_next itself.
template <class Number>
void RestartBackward(const ChoiceRow<Number>& row,
                     std::span<const Carry<Number>> d_next,
                     std::span<Carry<Number>> scratch,
                     const ChoiceRowGradient<Number>& gradient) {
  const std::size_t T = d_next.size();
  // scratch(k) = prod over n > k of (1 - p(n)).
  Carry<Number> product = 1;
  for (std::size_t k = T; k-- > 0;) {
    scratch[k] = product;
    product *= row.Passed(k);
  }
  Carry<Number> d_product = 0;  // of prod over n >= k
  for (std::size_t k = 0; k < T; ++k) {
    const Carry<Number> own = scratch[k] * row.Passed(k);
    gradient.start[k] += d_next[k] * own;
    d_product += d_next[k] * row.start[k];
    gradient.p[k] -= static_cast<Number>(d_product * scratch[k]);
    d_product *= row.Passed(k);
  }
}

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_MONOTONIC_SELECTION_H_
