#include "harness/results/sums.h"

#include <algorithm>
#include <cmath>

namespace attnbench {

bool IsSameSum(const Sum& sum, Precision precision, const Numerics& a,
               const Numerics& b) {
  const std::optional<double> of_a = a.*sum.value, of_b = b.*sum.value;
  if (!of_a || !of_b) return of_a == of_b;
  double size = std::max(std::abs(*of_a), std::abs(*of_b));
  if (sum.value == &Numerics::context_sum) {
    size = std::max({size, a.context_l2.value_or(0), b.context_l2.value_or(0)});
  }
  const double tolerance = precision == Precision::kF64 ? 1e-10 : 1e-5;
  return std::abs(*of_a - *of_b) <= tolerance * size;
}

}  // namespace attnbench
