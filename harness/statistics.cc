#include "harness/statistics.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <vector>

#include "mechanisms/common/check.h"

namespace attnbench {
namespace {

constexpr double kMissEachSide = 0.025;

std::vector<double> Sorted(std::span<const double> samples) {
  ATTN_CHECK(!samples.empty());
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace

double Median(std::span<const double> samples) {
  const std::vector<double> sorted = Sorted(samples);
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle]
                                : (sorted[middle - 1] + sorted[middle]) / 2;
}

Interval MedianInterval(std::span<const double> samples) {
  const std::vector<double> sorted = Sorted(samples);
  const std::size_t n = sorted.size();
  const boost::math::binomial below(static_cast<double>(n), 0.5);
  std::size_t k = 1;  // 1-based
  // k + 1 will do where P(B < k + 1) = P(B <= k) is small enough.
  while (k < n / 2 &&
         boost::math::cdf(below, static_cast<double>(k)) <= kMissEachSide) {
    ++k;
  }
  return {sorted[k - 1], sorted[n - k]};
}

}  // namespace attnbench
