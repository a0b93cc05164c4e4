// The training expectation of MoChA: what attention becomes of the distribution
// alpha of the scan when the chunk is the w entries that end at the choice,
//
//   beta(j) = sum over k = j..j+w-1 of
//             alpha(k) exp(u(j)) / sum over l = k-w+1..k of exp(u(l))
//                                                      (MoChA eqs 17 to 19)
//
// with both sums cut at the ends of the memory. It takes O(T) an output and
// O(T) memory whatever w is, for any finite u: nothing is clipped, and no sum
// is a difference of longer ones, which is how moving sums lose their digits.
//
// Where |u| is at most 80 and u spans at most 60 (600 and 400 in f64) all is
// done by kernels in Real, which carry long sums in f64: relative error of beta
// at most 16 units of Real and those of exp, in f64 2 min(w, T) / N units more,
// N being the lanes. Denormal numbers count as 0 there. Beyond, and backwards,
// numbers are Carry<Real>, and the error is about the rounding of Real. Neither
// bound holds for beta below 1e-37 (1e-200).
#ifndef ATTNBENCH_MECHANISMS_MOCHA_WINDOW_EXPECTATION_H_
#define ATTNBENCH_MECHANISMS_MOCHA_WINDOW_EXPECTATION_H_

#include <memory>

#include "mechanisms/monotonic/chunk_expectation.h"
#include "mechanisms/training/count.h"

namespace attnbench::mocha {

// Gives null for chunk_width 1, where attention is alpha.
template <class Real>
std::unique_ptr<ChunkExpectation<Real>> MakeWindowExpectation(
    const Config& config);

// Counts its operations for each entry of an output, as README.md does.
inline FunctionCost WindowCost(const Config& config, Index memory_length) {
  // A window that begins at the first entry is a prefix, and no more.
  if (config.Option<Index>("chunk_width") >= memory_length)
    return {.forward = 5, .backward = 13};
  return {.forward = 9, .backward = 21};
}

}  // namespace attnbench::mocha

#endif  // ATTNBENCH_MECHANISMS_MOCHA_WINDOW_EXPECTATION_H_
