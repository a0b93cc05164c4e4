#include "harness/stats/monte_carlo.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>

#include "mechanisms/common/check.h"

namespace attnbench {
namespace {

// The policy computes in doubles: the default would compute in long double,
// which is several times slower.
using DoublePolicy =
    boost::math::policies::policy<boost::math::policies::promote_double<false>>;

constexpr double kRelativeRounding = 1e-12;
constexpr double kRoundsToOne = 1e-15;

// The largest value that a computed probability `p` may stand for.
double Widened(double p, double rounding) {
  return std::min(1.0, p * (1 + kRelativeRounding) + rounding);
}

// The largest distance from 1 that a computed probability `p` may stand for.
double WidenedComplement(double p, double rounding) {
  return Widened(1 - p, rounding + kRoundsToOne);
}

// The p-value of too many `hits`, one side of the two.
double TooMany(std::int64_t trials, std::int64_t hits, double p) {
  return std::min(1.0, 2 * BinomialUpperTail(trials, hits, p));
}

// The smallest p' above p whose counts are too many for p with probability >=
// kPower; above 1 where no count is too many.
double SeenAbove(std::int64_t trials, double p, double level) {
  if (TooMany(trials, trials, p) > level) return 2;
  std::int64_t not_enough = -1;  // never too many
  std::int64_t enough = trials;  // too many
  while (enough - not_enough > 1) {
    const std::int64_t middle = not_enough + (enough - not_enough) / 2;
    (TooMany(trials, middle, p) <= level ? enough : not_enough) = middle;
  }
  return boost::math::ibeta_inv(static_cast<double>(enough),
                                static_cast<double>(trials - enough + 1),
                                kPower, DoublePolicy());
}

// The KL divergence of Bernoulli(x) from Bernoulli(p).
double Divergence(double x, double p) {
  const auto term = [](double a, double b) {
    return a > 0 ? a * std::log(a / b) : 0.0;
  };
  return term(x, p) + term(1 - x, 1 - p);
}

// Chernoff's bound for numbers in [0, 1], on either side.
double ChernoffPValue(const SampleMean& sample, double mean, double expected) {
  const double n = static_cast<double>(sample.trials);
  // A deviation that rounding explains does not count.
  if (std::abs(mean - expected) <= kRelativeRounding) return 1;
  const bool above = mean > expected;
  const double p =
      above ? Widened(expected, 0) : 1 - WidenedComplement(expected, 0);
  if (above ? mean <= p : mean >= p) return 1;
  return std::min(1.0, 2 * std::exp(-n * Divergence(mean, p)));
}

// L of P(|mean - expected| > width) <= 4 exp(-L), and its inverse: with numbers
// in [0, 1], width = sqrt(2 V L / n) + 7 L / (3 (n - 1)).
struct EmpiricalBernstein {
  double linear;  // the factor of L
  double root;    // the factor of sqrt(L)

  explicit EmpiricalBernstein(const SampleMean& sample, double variance) {
    const double n = static_cast<double>(sample.trials);
    linear = 7 / (3 * (n - 1));
    root = std::sqrt(2 * variance / n);
  }
  double Width(double probability) const {
    const double L = std::log(4 / probability);
    return root * std::sqrt(L) + linear * L;
  }
  double PValue(double width) const {
    const double root_of_l =
        2 * width / (root + std::sqrt(root * root + 4 * linear * width));
    return std::min(1.0, 4 * std::exp(-root_of_l * root_of_l));
  }
};

}  // namespace

double BinomialUpperTail(std::int64_t trials, std::int64_t hits, double p) {
  ATTN_CHECK_LE(hits, trials);
  if (hits <= 0) return 1;
  if (p <= 0) return 0;
  if (p >= 1) return 1;
  return boost::math::ibeta(static_cast<double>(hits),
                            static_cast<double>(trials - hits + 1), p,
                            DoublePolicy());
}

double CountPValue(std::int64_t trials, std::int64_t hits, double expected,
                   double rounding) {
  const double beyond = kRelativeRounding + rounding;
  if (!(expected >= -beyond && expected <= 1 + beyond)) return 0;
  const double p = std::clamp(expected, 0.0, 1.0);
  return std::min(
      TooMany(trials, hits, Widened(p, rounding)),
      TooMany(trials, trials - hits, WidenedComplement(p, rounding)));
}

double CountDetectable(std::int64_t trials, double expected, double level) {
  const double p = std::clamp(expected, 0.0, 1.0);
  double detectable = -1;
  for (const double from : {Widened(p, 0), WidenedComplement(p, 0)}) {
    const double seen = SeenAbove(trials, from, level);
    if (seen <= 1) detectable = std::max(detectable, seen - from);
  }
  return detectable < 0 ? 1 : detectable;
}

SampleSums::SampleSums(std::size_t count) : sums_(count) {}

SampleMean SummarizeSamples(const SampleSums& sums, std::size_t place,
                            std::int64_t trials, double low, double high) {
  const SampleSums::Sums& at = sums.sums_[place];
  const double n = static_cast<double>(trials);
  const double rounding = 1e-9 * std::max(1.0, high - low);
  SampleMean sample{.trials = trials, .low = low, .high = high};
  sample.mean = (at.sum + at.lost) / n;
  sample.variance =
      std::max(0.0, (at.square - n * sample.mean * sample.mean) / (n - 1));
  sample.in_range =
      at.least >= low - rounding && at.greatest <= high + rounding;
  return sample;
}

double MeanPValue(const SampleMean& sample, double expected) {
  const double range = sample.high - sample.low;
  if (!sample.in_range || !std::isfinite(sample.mean) ||
      !std::isfinite(expected)) {
    return 0;
  }
  const double difference = std::abs(sample.mean - expected);
  if (!(range > 0)) return difference <= kRelativeRounding ? 1 : 0;
  const auto scaled = [&](double value) {
    return std::clamp((value - sample.low) / range, 0.0, 1.0);
  };
  // An expectation outside of the range is wrong whatever was seen.
  const double beyond = kRelativeRounding * range + kRelativeRounding;
  if (expected < sample.low - beyond || expected > sample.high + beyond) {
    return 0;
  }
  const double chernoff =
      ChernoffPValue(sample, scaled(sample.mean), scaled(expected));
  const EmpiricalBernstein bernstein(sample, sample.variance / (range * range));
  const double by_variance =
      bernstein.PValue(std::max(0.0, difference / range - kRelativeRounding));
  return std::min(1.0, 2 * std::min(chernoff, by_variance));
}

double MeanDetectable(const SampleMean& sample, double level) {
  const double range = sample.high - sample.low;
  if (!(range > 0)) return kRelativeRounding;
  const EmpiricalBernstein bernstein(sample, sample.variance / (range * range));
  // The level is halved, as MeanPValue takes twice the smaller of two bounds.
  return range * std::min(1.0, bernstein.Width(level / 2) +
                                   bernstein.Width(1 - kPower));
}

double HolmThreshold(std::span<const double> p_values, double level) {
  std::vector<double> sorted(p_values.begin(), p_values.end());
  std::sort(sorted.begin(), sorted.end());
  double threshold = -1;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    if (!(sorted[k] <= level / static_cast<double>(sorted.size() - k))) break;
    threshold = sorted[k];
  }
  return threshold;
}

void ChiSquare::Add(std::int64_t trials, std::int64_t hits, double expected) {
  const double count = static_cast<double>(trials) * expected;
  if (!(count >= 5)) return;
  const double difference = static_cast<double>(hits) - count;
  statistic += difference * difference / count;
  ++terms;
}

}  // namespace attnbench
