#include "harness/stats/statistics.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "mechanisms/common/check.h"

namespace attnbench {
namespace {

constexpr double kTukeyFarOut = 3;

std::vector<double> Sorted(std::span<const double> samples) {
  ATTN_CHECK(!samples.empty());
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// The interval of order statistics; it is the whole range if no narrower one
// will do.
Interval OrderInterval(const std::vector<double>& sorted, double miss) {
  const std::size_t n = sorted.size();
  const boost::math::binomial below(static_cast<double>(n), 0.5);
  std::size_t k = 1;  // 1-based
  // k + 1 will do if P(B < k + 1) = P(B <= k) is small enough.
  while (k < n / 2 &&
         boost::math::cdf(below, static_cast<double>(k)) <= miss / 2) {
    ++k;
  }
  return {sorted[k - 1], sorted[n - k]};
}

// Whether the range of this many values misses seldom enough.
bool HaveOrderInterval(std::size_t count, double miss) {
  return std::ldexp(2.0, -static_cast<int>(count)) <= miss;
}

struct Moments {
  double mean = 0;
  double variance = 0;  // the variance of the mean
};

Moments MomentsOf(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, squares / (n - 1) / n};
}

// The |t| that Student's distribution exceeds with probability `miss`.
double StudentQuantile(double degrees, double miss) {
  return boost::math::quantile(
      boost::math::complement(boost::math::students_t(degrees), miss / 2));
}

Interval Around(double center, double half_width) {
  return {center - half_width, center + half_width};
}

// The ranks of the values from 1; equal values have the mean of their ranks.
std::vector<double> Ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return values[a] < values[b];
  });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && values[order[last]] == values[order[first]]) {
      ++last;
    }
    const double rank = static_cast<double>(first + 1 + last) / 2;
    for (; first < last; ++first) ranks[order[first]] = rank;
  }
  return ranks;
}

}  // namespace

double Median(std::span<const double> samples) {
  const std::vector<double> sorted = Sorted(samples);
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle]
                                : (sorted[middle - 1] + sorted[middle]) / 2;
}

double Quantile(std::span<const double> samples, double q) {
  const std::vector<double> sorted = Sorted(samples);
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = place - static_cast<double>(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

Interval MedianInterval(std::span<const double> samples) {
  return OrderInterval(Sorted(samples), kMiss);
}

Interval CenterInterval(std::span<const double> logs, double miss) {
  const std::vector<double> sorted = Sorted(logs);
  if (HaveOrderInterval(sorted.size(), miss)) {
    return OrderInterval(sorted, miss);
  }
  if (sorted.size() == 1) {
    const double infinity = std::numeric_limits<double>::infinity();
    return {-infinity, infinity};
  }
  const Moments moments = MomentsOf(sorted);
  const double degrees = static_cast<double>(sorted.size()) - 1;
  return Around(moments.mean,
                std::sqrt(moments.variance) * StudentQuantile(degrees, miss));
}

ProcessSamples SplitProcesses(std::span<const double> samples, int processes) {
  const auto count = static_cast<std::size_t>(processes);
  ATTN_CHECK(processes > 0 && !samples.empty() && samples.size() % count == 0);
  const std::size_t rounds = samples.size() / count;
  ProcessSamples split;
  for (std::size_t i = 0; i < count; ++i) {
    const auto part = samples.subspan(i * rounds, rounds);
    split.emplace_back(part.begin(), part.end());
  }
  return split;
}

ProcessSamples Logs(ProcessSamples samples) {
  for (std::vector<double>& process : samples) {
    for (double& sample : process) sample = std::log(sample);
  }
  return samples;
}

std::vector<double> ProcessMedians(const ProcessSamples& samples) {
  std::vector<double> medians;
  for (const std::vector<double>& process : samples) {
    medians.push_back(Median(process));
  }
  return medians;
}

Estimate Center(const ProcessSamples& logs, double miss) {
  const std::vector<double> units =
      logs.size() == 1 ? logs[0] : ProcessMedians(logs);
  return {Median(units), CenterInterval(units, miss)};
}

ProcessSamples PairedLogRatios(const ProcessSamples& numerator,
                               const ProcessSamples& denominator) {
  ATTN_CHECK(numerator.size() == denominator.size());
  ProcessSamples ratios = Logs(numerator);
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    ATTN_CHECK(ratios[i].size() == denominator[i].size());
    for (std::size_t j = 0; j < ratios[i].size(); ++j) {
      ratios[i][j] -= std::log(denominator[i][j]);
    }
  }
  return ratios;
}

Estimate Exp(const Estimate& logs) {
  return {std::exp(logs.value),
          {std::exp(logs.interval.low), std::exp(logs.interval.high)}};
}

Estimate UnpairedLogRatio(const ProcessSamples& a_logs,
                          const ProcessSamples& b_logs, double miss) {
  if (HasFewProcesses(a_logs) || HasFewProcesses(b_logs)) {
    const Estimate a = Center(a_logs, miss / 2);
    const Estimate b = Center(b_logs, miss / 2);
    const double layout = std::log(kLayoutFactor);
    return {b.value - a.value,
            {b.interval.low - a.interval.high - layout,
             b.interval.high - a.interval.low + layout}};
  }
  const Moments a = MomentsOf(ProcessMedians(a_logs));
  const Moments b = MomentsOf(ProcessMedians(b_logs));
  const double difference = b.mean - a.mean;
  const double variance = a.variance + b.variance;
  if (!(variance > 0)) return {difference, {difference, difference}};
  const auto degrees_of = [](const ProcessSamples& side) {
    return static_cast<double>(side.size()) - 1;
  };
  // These are the degrees of freedom of Welch and Satterthwaite.
  const double degrees = variance * variance /
                         (a.variance * a.variance / degrees_of(a_logs) +
                          b.variance * b.variance / degrees_of(b_logs));
  return {difference, Around(difference, std::sqrt(variance) *
                                             StudentQuantile(degrees, miss))};
}

double RankCorrelation(std::span<const double> x, std::span<const double> y) {
  ATTN_CHECK_EQ(x.size(), y.size());
  const std::vector<double> x_ranks = Ranks(x);
  const std::vector<double> y_ranks = Ranks(y);
  const double mean = (static_cast<double>(x.size()) + 1) / 2;
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x_ranks[i] - mean) * (x_ranks[i] - mean);
    yy += (y_ranks[i] - mean) * (y_ranks[i] - mean);
    xy += (x_ranks[i] - mean) * (y_ranks[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

RoundDrift RoundDriftOf(const ProcessSamples& samples) {
  std::vector<double> changes;
  double excess = 0;  // the late thirds' ranks less what chance expects
  double variance = 0;
  for (const std::vector<double>& process : samples) {
    const auto third = static_cast<std::ptrdiff_t>(process.size() / 3);
    ATTN_CHECK(third > 0);
    std::vector<double> thirds(process.begin(), process.begin() + third);
    const double early = Median(thirds);
    thirds.insert(thirds.end(), process.end() - third, process.end());
    changes.push_back(
        Median(std::span(thirds).last(static_cast<std::size_t>(third))) /
            early -
        1);
    const std::vector<double> ranks = Ranks(thirds);
    const auto m = static_cast<double>(third);
    excess += std::accumulate(ranks.begin() + third, ranks.end(), 0.0) -
              m * (2 * m + 1) / 2;
    variance += m * m * (2 * m + 1) / 12;
  }
  const double z = std::max(0.0, std::abs(excess) - 0.5) / std::sqrt(variance);
  const boost::math::normal normal;
  return {
      Median(changes),
      std::min(1.0, 2 * boost::math::cdf(boost::math::complement(normal, z)))};
}

int OutliersOf(const ProcessSamples& samples) {
  int outliers = 0;
  for (const std::vector<double>& process : samples) {
    const double low = Quantile(process, 0.25);
    const double high = Quantile(process, 0.75);
    const double reach = kTukeyFarOut * (high - low);
    outliers += static_cast<int>(
        std::count_if(process.begin(), process.end(), [&](double sample) {
          return sample < low - reach || sample > high + reach;
        }));
  }
  return outliers;
}

}  // namespace attnbench
