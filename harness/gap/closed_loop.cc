#include "harness/gap/closed_loop.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attnbench {

void AddScaled(std::span<const double> x, double scale, std::span<double> sum) {
  for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += scale * x[k];
}

void SoftmaxInPlace(std::span<double> logits) {
  const double largest = *std::ranges::max_element(logits);
  for (double& logit : logits) logit = std::exp(logit - largest);
  const double sum = std::accumulate(logits.begin(), logits.end(), 0.0);
  for (double& logit : logits) logit /= sum;
}

}  // namespace attnbench
