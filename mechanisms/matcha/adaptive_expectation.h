// The training expectation of MAtChA, one output (MoChA appendix C). With
// e = exp(u), S(k, l) the sum of e over k..l, and the mass that starts at k and
// chooses l,
//
//   G(k, l) = start(k) p(l) prod over n = k..l-1 of (1 - p(n)) / S(k, l),
//   beta(j) = e(j) sum over k <= j <= l of G(k, l)           (eqs 28 and 43)
//
// Divide and conquer: for k left and l right of the middle of a block
// G(k, l) = A(k) B(l) / (x(k) + y(l)), x and y being the sums of e from k to
// the middle and from there to l. Entry j on the left receives the row sums of
// G for k <= j, on the right the column sums for l >= j, and both halves go on
// alike. It takes O(T) memory, where eq 43 has an array [T, T] for each output;
// all terms are positive; exact for any finite u. Taken pair by pair it is
// O(T^2); long blocks of moderate u need not be (moderate_blocks.h).
//
// Backwards, d = dL/d beta: with M(k, l) the mean of d over k..l under the
// softmax of u, V(k, n) = p(n) M(k, n) + (1 - p(n)) V(k, n+1) is what a scan
// that began at k and has reached n is worth, and
//
//   dL/dstart(k) = V(k, k)
//
//   dL/dp(n)     = sum over k <= n of
//                  start(k) prod (1 - p) (M(k, n) - V(k, n + 1))
//
//   dL/du(j)     = e(j) sum over k <= j <= l of G(k, l) (d(j) - M(k, l))
//
// This takes O(T^2) time and O(T) memory, and never divides by p or 1 - p.
//
// Where all u of a row lie close together (moderate_blocks.h and, backwards,
// moderate_gradient.h), pairs are taken by kernels. What follows here is right
// for any finite u, and scalar.
#ifndef ATTNBENCH_MECHANISMS_MATCHA_ADAPTIVE_EXPECTATION_H_
#define ATTNBENCH_MECHANISMS_MATCHA_ADAPTIVE_EXPECTATION_H_

#include <memory>

#include "mechanisms/monotonic/chunk_expectation.h"
#include "mechanisms/training/count.h"

namespace attnbench::matcha {

// The variant that goes through all pairs.
inline constexpr char kPairs[] = "pairs";

template <class Real>
std::unique_ptr<ChunkExpectation<Real>> MakeAdaptiveExpectation(
    const Config& config);

// Each pair (start, choice) takes an addition, a division and two products with
// their additions; backwards 1 / (x + y) (2), and eight sums of products with
// it and its square (16). Each entry takes the exp, A, B, x, y and the two
// sums; backwards the exp. In long halves (moderate_blocks.h) an entry takes 3
// flops for each term of its 2 sums forward, and of its 6 backward.
template <class Real>
FunctionCost AdaptiveCost(const Config& config);

}  // namespace attnbench::matcha

#endif  // ATTNBENCH_MECHANISMS_MATCHA_ADAPTIVE_EXPECTATION_H_
