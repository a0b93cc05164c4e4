#include "harness/results/sums.h"

#include <algorithm>
#include <cmath>

namespace attnbench {

bool IsSameSum(const std::string& precision, std::optional<double> a,
               std::optional<double> b) {
  if (!a || !b) return a == b;
  const double tolerance = precision == "f64" ? 1e-10 : 1e-5;
  return std::abs(*a - *b) <= tolerance * std::max(std::abs(*a), std::abs(*b));
}

}  // namespace attnbench
