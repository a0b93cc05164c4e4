#include "harness/sums.h"

#include <algorithm>
#include <cmath>

namespace attnbench {

bool IsSameSum(const Json& cell, const Json& a, const Json& b) {
  if (!a.is_number() || !b.is_number()) return a == b;
  const double tolerance = cell.at("precision") == "f64" ? 1e-10 : 1e-5;
  const auto x = a.get<double>();
  const auto y = b.get<double>();
  return std::abs(x - y) <= tolerance * std::max(std::abs(x), std::abs(y));
}

}  // namespace attnbench
