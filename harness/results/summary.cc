#include "harness/results/summary.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/stats/effects.h"
#include "harness/stats/statistics.h"

namespace attnbench {
namespace {

// The quotient; none if there is nothing to divide by.
std::optional<double> Over(double value, double median) {
  if (!(median > 0)) return {};
  return value / median;
}

std::optional<double> QuartileSpread(const std::vector<double>& values) {
  if (values.empty()) return {};
  return Over(Quantile(values, 0.75) - Quantile(values, 0.25), Median(values));
}

std::optional<double> RoundSpread(const ProcessSamples& samples) {
  std::vector<double> spreads;
  for (const std::vector<double>& process : samples) {
    const std::optional<double> spread = QuartileSpread(process);
    if (!spread) return {};
    spreads.push_back(*spread);
  }
  return Median(spreads);
}

std::optional<double> ProcessSpread(const std::vector<double>& medians) {
  if (medians.size() == 1) return {};
  const auto [least, greatest] =
      std::minmax_element(medians.begin(), medians.end());
  return Over(*greatest - *least, Median(medians));
}

// The standard deviation of the logarithms between builds.
std::optional<double> BuildSpread(const ProcessSamples& samples,
                                  std::int64_t builds) {
  if (builds == 1) return {};
  const Center center = CenterOf(Logs(samples), builds);
  return std::sqrt(center.variance.value * static_cast<double>(builds));
}

Spread SpreadOf(const ProcessSamples& samples, const ResultCell& cell) {
  Spread spread = {.rounds = RoundSpread(samples),
                   .processes = ProcessSpread(ProcessMedians(samples)),
                   .builds = BuildSpread(samples, cell.builds),
                   .draws = QuartileSpread(cell.draw_ns),
                   .outliers = static_cast<std::int64_t>(OutliersOf(samples)),
                   .drift = {},
                   .drift_p = {}};
  if (samples[0].size() >= kLeastDriftRounds) {
    const RoundDrift drift = RoundDriftOf(samples);
    spread.drift = drift.change;
    spread.drift_p = drift.p;
  }
  return spread;
}

Estimate TimeOf(const ProcessSamples& samples, std::int64_t builds) {
  return Exp(EstimateOf(Logs(samples), builds, CommittedEffects().time));
}

}  // namespace

ProcessSamples SamplesOf(const ResultCell& cell) {
  return SplitProcesses(cell.samples_ns, static_cast<int>(cell.processes));
}

void Summarize(ResultCell& cell) {
  cell.median_ns.reset();
  cell.interval_ns.reset();
  cell.least_ns.reset();
  cell.prepare_ns.reset();
  cell.spread.reset();
  if (!cell.prepare_samples_ns.empty()) {
    cell.prepare_ns = Median(cell.prepare_samples_ns);
  }
  if (cell.samples_ns.empty()) return;
  const ProcessSamples samples = SamplesOf(cell);
  const Estimate time = TimeOf(samples, cell.builds);
  cell.median_ns = time.value;
  cell.interval_ns = Finite(time.interval);
  cell.least_ns = *std::ranges::min_element(cell.samples_ns);
  cell.spread = SpreadOf(samples, cell);
  if (!cell.decoder || cell.decoder->attention_samples_ns.empty()) return;
  const ProcessSamples attention = SplitProcesses(
      cell.decoder->attention_samples_ns, static_cast<int>(cell.processes));
  const Estimate attention_time = TimeOf(attention, cell.builds);
  cell.decoder->attention_median_ns = attention_time.value;
  cell.decoder->attention_interval_ns = Finite(attention_time.interval);
}

}  // namespace attnbench
