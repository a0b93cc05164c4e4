#include "harness/summary.h"

#include <algorithm>
#include <vector>

#include "harness/statistics.h"

namespace attnbench {
namespace {

// Null where there is nothing to divide by.
Json Over(double value, double median) {
  return median > 0 ? Json(value / median) : Json(nullptr);
}

Json QuartileSpread(const std::vector<double>& values) {
  if (values.empty()) return nullptr;
  return Over(Quantile(values, 0.75) - Quantile(values, 0.25), Median(values));
}

Json RoundSpread(const ProcessSamples& samples) {
  std::vector<double> spreads;
  for (const std::vector<double>& process : samples) {
    const Json spread = QuartileSpread(process);
    if (spread.is_null()) return nullptr;
    spreads.push_back(spread.get<double>());
  }
  return Median(spreads);
}

Json ProcessSpread(const std::vector<double>& medians) {
  if (medians.size() == 1) return nullptr;
  const auto [least, greatest] =
      std::minmax_element(medians.begin(), medians.end());
  return Over(*greatest - *least, Median(medians));
}

Json Spread(const ProcessSamples& samples, const std::vector<double>& draws) {
  Json spread = {{"rounds", RoundSpread(samples)},
                 {"processes", ProcessSpread(ProcessMedians(samples))},
                 {"draws", QuartileSpread(draws)},
                 {"outliers", OutliersOf(samples)},
                 {"drift", nullptr},
                 {"drift_p", nullptr}};
  if (samples[0].size() >= kLeastDriftRounds) {
    const RoundDrift drift = RoundDriftOf(samples);
    spread["drift"] = drift.change;
    spread["drift_p"] = drift.p;
  }
  return spread;
}

}  // namespace

Interval IntervalOf(const ProcessSamples& samples) {
  if (samples.size() == 1) return MedianInterval(samples[0]);
  return Exp(Center(Logs(samples), kMiss)).interval;
}

void Summarize(Json& cell) {
  const auto samples = cell.at("samples_ns").get<std::vector<double>>();
  const auto prepare = cell.at("prepare_samples_ns").get<std::vector<double>>();
  cell["median_ns"] = nullptr;
  cell["interval_ns"] = nullptr;
  cell["prepare_ns"] = nullptr;
  cell["spread"] = nullptr;
  if (!prepare.empty()) cell["prepare_ns"] = Median(prepare);
  if (samples.empty()) return;
  const ProcessSamples of_processes =
      SplitProcesses(samples, cell.at("processes").get<int>());
  const Interval interval = IntervalOf(of_processes);
  cell["median_ns"] = Median(ProcessMedians(of_processes));
  cell["interval_ns"] = {interval.low, interval.high};
  cell["spread"] =
      Spread(of_processes, cell.at("draw_ns").get<std::vector<double>>());
}

}  // namespace attnbench
