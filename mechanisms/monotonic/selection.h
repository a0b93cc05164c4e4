// One output of the training expectation of the monotonic scan: start
// distribution in, alpha and the next start distribution out, and backwards.
//
//   q(j)     = (1 - p(j-1)) q(j-1) + start(j)     the mass that arrives at j
//   alpha(j) = p(j) q(j)                          (MAD eqs 9-10, appendix C)
//
// No division and no clipping; O(T). The gradient is the same recurrence
// backwards, a convex combination, so it cannot explode:
//
//   dq(j) = p(j) dalpha(j) + (1 - p(j)) dq(j+1)
//   dp(j) = q(j) (dalpha(j) - dq(j+1)),  dstart(j) = dq(j)
//
// All arrays are [T].
#ifndef ATTNBENCH_MECHANISMS_MONOTONIC_SELECTION_H_
#define ATTNBENCH_MECHANISMS_MONOTONIC_SELECTION_H_

#include <span>

#include "mechanisms/monotonic/chunk_expectation.h"

namespace attnbench {

// p chosen, 1 - p passed: q - p q where p is small, since a rounded 1 - p would
// lose the same share at every entry of a long memory.
template <class Number>
Carry<Number> PassedOn(Carry<Number> q, Number p, Number complement) {
  return p <= Number{0.5} ? q - static_cast<Carry<Number>>(p) * q
                          : static_cast<Carry<Number>>(complement) * q;
}

template <class Number>
void Select(const ChoiceRow<Number>& row, std::span<Number> alpha) {
  Carry<Number> q = 0;
  for (std::size_t j = 0; j < alpha.size(); ++j) {
    q += row.start[j];
    alpha[j] = static_cast<Number>(row.p[j] * q);
    q = PassedOn(q, row.p[j], row.complement[j]);
  }
}

// The start distribution after an output. Under `absorb` and `stay_last` it is
// alpha; under `restart` what chose nothing starts again where it started:
//   next(k) = alpha(k) + start(k) prod over n >= k of (1 - p(n)).
template <class Number>
void NextStart(EndPolicy end, const ChoiceRow<Number>& row,
               std::span<Number> next) {
  const std::size_t T = next.size();
  Carry<Number> reaches_end = 1;
  for (std::size_t k = T; k-- > 0;) {
    next[k] = row.selection[k];
    if (end != EndPolicy::kRestart) continue;
    reaches_end = PassedOn(reaches_end, row.p[k], row.complement[k]);
    next[k] += static_cast<Number>(row.start[k] * reaches_end);
  }
}

// Adds to gradient.start, .p and .selection what follows from d_next.
template <class Number>
void NextStartBackward(EndPolicy end, const ChoiceRow<Number>& row,
                       std::span<const Number> d_next,
                       std::span<Carry<Number>> scratch,
                       const ChoiceRowGradient<Number>& gradient) {
  const std::size_t T = d_next.size();
  for (std::size_t k = 0; k < T; ++k) gradient.selection[k] += d_next[k];
  if (end != EndPolicy::kRestart || T == 0) return;
  // scratch(k) = prod over n > k of (1 - p(n)).
  Carry<Number> product = 1;
  for (std::size_t k = T; k-- > 0;) {
    scratch[k] = product;
    product = PassedOn(product, row.p[k], row.complement[k]);
  }
  Carry<Number> d_product = 0;  // of prod over n >= k
  for (std::size_t k = 0; k < T; ++k) {
    const Carry<Number> own = PassedOn(scratch[k], row.p[k], row.complement[k]);
    gradient.start[k] += static_cast<Number>(d_next[k] * own);
    d_product += static_cast<Carry<Number>>(d_next[k]) * row.start[k];
    gradient.p[k] -= static_cast<Number>(d_product * scratch[k]);
    d_product = PassedOn(d_product, row.p[k], row.complement[k]);
  }
}

// Adds to gradient.start and gradient.p what follows from gradient.selection.
// `arrived` is scratch.
template <class Number>
void SelectBackward(const ChoiceRow<Number>& row,
                    std::span<Carry<Number>> arrived,
                    const ChoiceRowGradient<Number>& gradient) {
  const std::size_t T = row.p.size();
  Carry<Number> q = 0;
  for (std::size_t j = 0; j < T; ++j) {
    q += row.start[j];
    arrived[j] = q;
    q = PassedOn(q, row.p[j], row.complement[j]);
  }
  Carry<Number> dq_after = 0;  // dq(j+1)
  for (std::size_t j = T; j-- > 0;) {
    const Carry<Number> d_alpha = gradient.selection[j];
    gradient.p[j] += static_cast<Number>(arrived[j] * (d_alpha - dq_after));
    dq_after =
        row.p[j] * d_alpha + PassedOn(dq_after, row.p[j], row.complement[j]);
    gradient.start[j] += static_cast<Number>(dq_after);
  }
}

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_MONOTONIC_SELECTION_H_
