// The sums over a cell's output, in which two measurements of the same thing
// must agree up to rounding.
#ifndef ATTNBENCH_HARNESS_SUMS_H_
#define ATTNBENCH_HARNESS_SUMS_H_

#include "harness/axes.h"

namespace attnbench {

// Those of `numerics` that are sums.
inline constexpr const char* kSums[] = {"attention_mass", "context_sum",
                                        "context_l2"};

// Whether a sum of two cells of this one's precision is the same: equal, or
// numbers that differ by at most 1e-5 (f32) or 1e-10 (f64) of the larger.
bool IsSameSum(const Json& cell, const Json& a, const Json& b);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SUMS_H_
