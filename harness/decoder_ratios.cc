#include "harness/decoder_ratios.h"

#include <string>

#include "harness/statistics.h"

namespace attnbench {
namespace {

ProcessSamples SamplesOf(const Json& cell) {
  return {cell.at("samples_ns").get<std::vector<double>>()};
}

bool IsTimed(const Json& cell) { return !cell.at("samples_ns").empty(); }

}  // namespace

void SummarizeSamples(const std::string& prefix, Json& cell) {
  cell[prefix + "median_ns"] = nullptr;
  cell[prefix + "interval_ns"] = nullptr;
  const auto samples =
      cell.at(prefix + "samples_ns").get<std::vector<double>>();
  if (samples.empty()) return;
  const Interval interval = MedianInterval(samples);
  cell[prefix + "median_ns"] = Median(samples);
  cell[prefix + "interval_ns"] = {interval.low, interval.high};
}

void AddRatiosToSoft(std::vector<Json>& cells) {
  const Json* soft = nullptr;
  for (const Json& cell : cells) {
    if (soft == nullptr && cell.at("mechanism") == "soft") soft = &cell;
  }
  for (Json& cell : cells) {
    cell["ratio_to_soft"] = nullptr;
    if (soft == nullptr || !IsTimed(*soft) || !IsTimed(cell)) continue;
    const Estimate ratio =
        Exp(Center(PairedLogRatios(SamplesOf(cell), SamplesOf(*soft)), kMiss));
    // A single round has no interval: its ends are 0 and infinite.
    const bool has_interval = cell.at("samples_ns").size() > 1;
    cell["ratio_to_soft"] = {{"value", ratio.value}, {"interval", nullptr}};
    if (has_interval) {
      cell["ratio_to_soft"]["interval"] = {ratio.interval.low,
                                           ratio.interval.high};
    }
  }
}

}  // namespace attnbench
