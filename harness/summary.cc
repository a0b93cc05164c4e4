#include "harness/summary.h"

#include <algorithm>
#include <vector>

#include "harness/statistics.h"

namespace attnbench {
namespace {

// What lies between the smallest and the largest, over the median.
Json RelativeRange(const std::vector<double>& values) {
  if (values.empty() || Median(values) <= 0) return nullptr;
  const auto [least, greatest] =
      std::minmax_element(values.begin(), values.end());
  return (*greatest - *least) / Median(values);
}

}  // namespace

void Summarize(Json& cell) {
  const auto samples = cell.at("samples_ns").get<std::vector<double>>();
  const auto prepare = cell.at("prepare_samples_ns").get<std::vector<double>>();
  cell["median_ns"] = nullptr;
  cell["interval_ns"] = nullptr;
  cell["prepare_ns"] = nullptr;
  cell["spread"] = nullptr;
  if (!prepare.empty()) cell["prepare_ns"] = Median(prepare);
  if (samples.empty()) return;
  const Interval interval = MedianInterval(samples);
  cell["median_ns"] = Median(samples);
  cell["interval_ns"] = {interval.low, interval.high};
  cell["spread"] = {
      {"rounds", RelativeRange(samples)},
      {"draws", RelativeRange(cell.at("draw_ns").get<std::vector<double>>())}};
}

}  // namespace attnbench
