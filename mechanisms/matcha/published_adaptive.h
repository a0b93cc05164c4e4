// The two algorithms of MoChA appendix C for beta of one output, as one scalar
// template over plain and dual numbers:
//
//   nested        eq 28, sums and products term by term; O(T^3)
//   partial_sums  eqs 40 to 43, arrays [T, T] of all partial sums of exp(u) and
//                 all partial products of 1 - p, the latter by a division that
//                 is 0/0 after a p of 1; O(T^2), O(T^2) memory an output
//
// Both overflow for large u. Under `parallel`, where start is by a closed form
// and need not be exact, beta follows from it by eq 28 in an order that neither
// overflows nor divides by zero; O(T^2). `exact` (adaptive_expectation.h) does
// neither, and is faster.
#ifndef ATTNBENCH_MECHANISMS_MATCHA_PUBLISHED_ADAPTIVE_H_
#define ATTNBENCH_MECHANISMS_MATCHA_PUBLISHED_ADAPTIVE_H_

#include "mechanisms/monotonic/published_expectation.h"

namespace attnbench::matcha {

// config.variant is nested, partial_sums or parallel. Number is a precision or
// its Dual.
template <class Number>
void PublishedAdaptive(const Config& config, const PublishedRow<Number>& row,
                       std::span<Number> attention);

}  // namespace attnbench::matcha

#endif  // ATTNBENCH_MECHANISMS_MATCHA_PUBLISHED_ADAPTIVE_H_
