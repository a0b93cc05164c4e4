#include "harness/stats/statistics.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numbers>
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

// The interquartile range of normal values over their standard deviation.
constexpr double kNormalQuartiles = 1.349;
// By so many values fewer do the quartiles of a few values tell their spread.
constexpr double kTooNarrow = 1.1;

double Mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

// The mean of several units.
Center CenterOfUnits(std::span<const double> units) {
  const auto n = static_cast<double>(units.size());
  const double mean = Mean(units);
  double squares = 0;
  for (const double unit : units) squares += (unit - mean) * (unit - mean);
  return {mean, {squares / (n - 1) / n, n - 1}};
}

Center CenterOfRounds(std::span<const double> rounds) {
  const auto n = static_cast<double>(rounds.size());
  if (n == 1) return {rounds[0], {std::numeric_limits<double>::infinity(), 1}};
  const double deviation =
      (Quantile(rounds, 0.75) - Quantile(rounds, 0.25)) / kNormalQuartiles;
  return {Median(rounds),
          {std::numbers::pi / 2 * deviation * deviation / (n - kTooNarrow),
           std::max(1.0, (n - 1) / 2)}};
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
  return sorted.size() % 2 == 1
             ? sorted[middle]
             : std::midpoint(sorted[middle - 1], sorted[middle]);
}

double Quantile(std::span<const double> samples, double q) {
  const std::vector<double> sorted = Sorted(samples);
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = place - static_cast<double>(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

std::optional<Interval> Finite(const Interval& interval) {
  if (!std::isfinite(interval.high)) return {};
  return interval;
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

std::vector<double> BuildMeans(const ProcessSamples& logs,
                               std::int64_t builds) {
  const std::vector<double> medians = ProcessMedians(logs);
  const auto count = static_cast<std::size_t>(builds);
  ATTN_CHECK(builds > 0 && medians.size() % count == 0);
  std::vector<double> means(count);
  for (std::size_t k = 0; k < medians.size(); ++k) {
    means[k % count] += medians[k];
  }
  const std::size_t processes = medians.size() / count;
  for (double& mean : means) mean /= static_cast<double>(processes);
  return means;
}

Center CenterOf(const ProcessSamples& logs, std::int64_t builds) {
  if (builds > 1) return CenterOfUnits(BuildMeans(logs, builds));
  if (logs.size() > 1) return CenterOfUnits(ProcessMedians(logs));
  return CenterOfRounds(logs.at(0));
}

std::vector<Variance> Effect::Parts(const EffectCounts& counts) const {
  return {{counts.builds * s_build * s_build, build_degrees},
          {counts.processes * s_process * s_process, process_degrees},
          {counts.runs * s_run * s_run, run_degrees}};
}

double HalfWidth(std::span<const Variance> parts, double miss) {
  double sum = 0;
  double squares = 0;  // each over its degrees
  for (const Variance& part : parts) {
    sum += part.value;
    squares += part.value * part.value / part.degrees;
  }
  if (sum == 0 || std::isinf(sum)) return sum;
  const boost::math::students_t student(sum * sum / squares);
  return boost::math::quantile(boost::math::complement(student, miss / 2)) *
         std::sqrt(sum);
}

Estimate EstimateOf(const ProcessSamples& logs, std::int64_t builds,
                    const Effect& effect, double miss) {
  const Center center = CenterOf(logs, builds);
  std::vector<Variance> parts =
      effect.Parts({.builds = builds > 1 ? 0.0 : 1.0,
                    .processes = logs.size() > 1 ? 0.0 : 1.0,
                    .runs = 1});
  parts.push_back(center.variance);
  const double half = HalfWidth(parts, miss);
  return {center.value, {center.value - half, center.value + half}};
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
  return {std::min(std::exp(logs.value), std::numeric_limits<double>::max()),
          {std::exp(logs.interval.low), std::exp(logs.interval.high)}};
}

double TotalVariation(std::span<const double> a, std::span<const double> b) {
  double missing = 0;
  double apart = 0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    missing += a[j] - b[j];
    apart += std::abs(a[j] - b[j]);
  }
  return (apart + std::abs(missing)) / 2;
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
