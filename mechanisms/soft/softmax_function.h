// softmax over each row of a table of energies, and its vector-Jacobian
// product:
//
//   alpha(i, j) = exp(e(i, j)) / sum over k of exp(e(i, k))       (MAD eq 2)
//   de(i, j)    = alpha(i, j) (d(i, j) - sum over k of alpha(i, k) d(i, k))
//
// for dL/d alpha = d. It is exact for any finite energies.
#ifndef ATTNBENCH_MECHANISMS_SOFT_SOFTMAX_FUNCTION_H_
#define ATTNBENCH_MECHANISMS_SOFT_SOFTMAX_FUNCTION_H_

#include <memory>

#include "mechanisms/training/attention_function.h"
#include "mechanisms/training/count.h"

namespace attnbench::soft {

template <class Real>
std::unique_ptr<AttentionFunction<Real>> MakeSoftmaxFunction();

// This one is in scalar loops; Number is Wider<Real>.
template <class Number>
std::unique_ptr<AttentionFunction<Number>> MakeSoftmaxReference();

// An element takes a comparison, a difference, an exp, a sum and a division;
// and backwards two products, a sum and a difference.
inline constexpr FunctionCost kSoftmaxCost = {.forward = 5, .backward = 4};

}  // namespace attnbench::soft

#endif  // ATTNBENCH_MECHANISMS_SOFT_SOFTMAX_FUNCTION_H_
