#include "harness/measure/decoder_ratios.h"

#include <fmt/format.h>

#include <string>

#include "harness/results/summary.h"
#include "harness/stats/statistics.h"

namespace attnbench {
namespace {

ProcessSamples SamplesOf(const Json& cell, const std::string& list) {
  return SplitProcesses(cell.at(list).get<std::vector<double>>(),
                        cell.at("processes").get<int>());
}

constexpr char kTimes[] = "samples_ns";

bool IsTimed(const Json& cell) { return !cell.at(kTimes).empty(); }

}  // namespace

std::string WhyNotAsTrained(const Json& cell) {
  const Json reads = cell.value("reads", Json());
  if (reads.is_null() || reads.at("memory_read").is_null()) return "";
  const double read = reads.at("memory_read");
  const double empty = reads.at("zero_contexts");
  if (read >= kLeastMemoryRead && empty <= kMostZeroContexts) return "";
  return fmt::format(
      "{:.0f} % of the memory was read and {:.0f} % of the outputs had no "
      "entry; a time like that of trained weights needs at least {:.0f} % and "
      "at most {:.0f} %",
      100 * read, 100 * empty, 100 * kLeastMemoryRead, 100 * kMostZeroContexts);
}

void SummarizeSamples(const std::string& prefix, Json& cell) {
  cell[prefix + "median_ns"] = nullptr;
  cell[prefix + "interval_ns"] = nullptr;
  const std::string list = prefix + "samples_ns";
  if (cell.at(list).empty()) return;
  const ProcessSamples samples = SamplesOf(cell, list);
  const Interval interval = IntervalOf(samples);
  cell[prefix + "median_ns"] = Median(ProcessMedians(samples));
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
    const Estimate ratio = Exp(Center(
        PairedLogRatios(SamplesOf(cell, kTimes), SamplesOf(*soft, kTimes)),
        kMiss));
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
