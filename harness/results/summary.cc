#include "harness/results/summary.h"

#include <algorithm>
#include <vector>

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

Spread SpreadOf(const ProcessSamples& samples,
                const std::vector<double>& draws) {
  Spread spread = {.rounds = RoundSpread(samples),
                   .processes = ProcessSpread(ProcessMedians(samples)),
                   .draws = QuartileSpread(draws),
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

}  // namespace

Interval IntervalOf(const ProcessSamples& samples) {
  if (samples.size() == 1) return MedianInterval(samples[0]);
  return Exp(Center(Logs(samples), kMiss)).interval;
}

ProcessSamples SamplesOf(const ResultCell& cell) {
  return SplitProcesses(cell.samples_ns, static_cast<int>(cell.processes));
}

void Summarize(ResultCell& cell) {
  cell.median_ns.reset();
  cell.interval_ns.reset();
  cell.prepare_ns.reset();
  cell.spread.reset();
  if (!cell.prepare_samples_ns.empty()) {
    cell.prepare_ns = Median(cell.prepare_samples_ns);
  }
  if (cell.samples_ns.empty()) return;
  const ProcessSamples samples = SamplesOf(cell);
  cell.median_ns = Median(ProcessMedians(samples));
  cell.interval_ns = IntervalOf(samples);
  cell.spread = SpreadOf(samples, cell.draw_ns);
  if (!cell.decoder || cell.decoder->attention_samples_ns.empty()) return;
  const ProcessSamples attention = SplitProcesses(
      cell.decoder->attention_samples_ns, static_cast<int>(cell.processes));
  cell.decoder->attention_median_ns = Median(ProcessMedians(attention));
  cell.decoder->attention_interval_ns = IntervalOf(attention);
}

}  // namespace attnbench
