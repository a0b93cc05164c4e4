#include "harness/gap/closed_loop.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attnbench {

double TotalVariation(std::span<const double> difference) {
  double sum = 0;
  double total = 0;
  for (const double one : difference) {
    sum += one;
    total += std::abs(one);
  }
  return (total + std::abs(sum)) / 2;
}

void SoftmaxInPlace(std::span<double> logits) {
  const double largest = *std::ranges::max_element(logits);
  for (double& logit : logits) logit = std::exp(logit - largest);
  const double sum = std::accumulate(logits.begin(), logits.end(), 0.0);
  for (double& logit : logits) logit /= sum;
}

}  // namespace attnbench
