// The sums over a cell's output. Two measurements of the same thing must agree
// in them up to rounding.
#ifndef ATTNBENCH_HARNESS_RESULTS_SUMS_H_
#define ATTNBENCH_HARNESS_RESULTS_SUMS_H_

#include <optional>
#include <string>

#include "harness/results/cell.h"

namespace attnbench {

// A figure of `numerics` that is a sum.
struct Sum {
  const char* name;
  std::optional<double> Numerics::*value;
};
inline constexpr Sum kSums[] = {{"attention_mass", &Numerics::attention_mass},
                                {"context_sum", &Numerics::context_sum},
                                {"context_l2", &Numerics::context_l2}};

// Whether a sum is the same in two cells of that precision: equal, or different
// by at most 1e-5 (f32) or 1e-10 (f64) of the larger. Contexts have numbers of
// either sign, whose sum may nearly cancel: it may differ by as much of
// context_l2.
bool IsSameSum(const Sum& sum, Precision precision, const Numerics& a,
               const Numerics& b);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_RESULTS_SUMS_H_
