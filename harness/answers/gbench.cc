#include "harness/answers/gbench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/stats/statistics.h"

namespace attnbench {
namespace {

// The fields of Google Benchmark's own context; the rest are texts, such as a
// benchmark's author may add there.
Json ContextJson(const SweepContext& context) {
  return {{"date", context.date},
          {"executable", "attnbench"},
          {"num_cpus", context.cores},
          {"library_build_type",
           context.build_type == "Debug" ? "debug" : "release"},
          {"valid", context.valid ? "true" : "false"},
          {"invalid_reasons",
           fmt::to_string(fmt::join(context.invalid_reasons, "; "))},
          {"warnings", fmt::to_string(fmt::join(context.warnings, "; "))},
          {"commit", context.commit},
          {"build_id", context.build_id},
          {"cpu", context.cpu},
          {"simd", context.simd}};
}

// A name like "soft/T=100/U=100/d=256/...": every axis that is not null, by its
// letter if it has one, then the options. Different cells have different names,
// and the same cell of another result has the same name.
std::string NameOf(const ResultCell& cell) {
  std::string name = cell.mechanism;
  for (const Axis& axis : AllAxes()) {
    const AxisValue& value = cell.axes.at(axis.name);
    if (value.is_null()) continue;
    name += fmt::format("/{}={}", axis.letter.empty() ? axis.name : axis.letter,
                        value.Shown());
  }
  for (const auto& [key, value] : cell.options) {
    name += fmt::format("/{}={}", key, OptionText(value));
  }
  return name;
}

// The entry of a benchmark, without times.
Json Entry(const std::string& name, std::size_t family, std::int64_t threads) {
  return {{"name", name},
          {"family_index", family},
          {"per_family_instance_index", 0},
          {"run_name", name},
          {"threads", threads}};
}

void SetTime(Json& entry, double time) {
  entry["real_time"] = time;
  entry["cpu_time"] = time;
  entry["time_unit"] = "ns";
}

double Mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

// The standard deviation of two values or more, with n - 1 in the denominator.
double StandardDeviation(std::span<const double> values) {
  const double mean = Mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

void AddAggregates(const Json& entry, std::span<const double> samples,
                   Json& benchmarks) {
  const double mean = Mean(samples);
  const double deviation = StandardDeviation(samples);
  const auto add = [&](const std::string& aggregate, const char* unit,
                       double value) {
    Json made = entry;
    made["name"] = entry.at("name").get<std::string>() + "_" + aggregate;
    made["run_type"] = "aggregate";
    made["repetitions"] = samples.size();
    made["aggregate_name"] = aggregate;
    made["aggregate_unit"] = unit;
    made["iterations"] = samples.size();
    SetTime(made, value);
    benchmarks.push_back(std::move(made));
  };
  add("mean", "time", mean);
  add("median", "time", Median(samples));
  add("stddev", "time", deviation);
  add("cv", "percentage", deviation / mean);
}

void AddCell(const ResultCell& cell, std::size_t index, Json& benchmarks) {
  const Json entry =
      Entry(NameOf(cell), index, cell.axes.at("threads").whole());
  if (!cell.is_ok()) {
    Json failed = entry;
    failed["run_type"] = "aggregate";
    failed["aggregate_name"] = "error";
    failed["time_unit"] = nullptr;
    failed["error_occurred"] = true;
    failed["error_message"] = NameOf(cell.status) + ": " + *cell.message;
    benchmarks.push_back(std::move(failed));
    return;
  }
  const std::vector<double>& samples = cell.samples_ns;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Json repetition = entry;
    repetition["run_type"] = "iteration";
    repetition["repetitions"] = samples.size();
    repetition["repetition_index"] = i;
    repetition["iterations"] = *cell.trials_per_sample;
    SetTime(repetition, samples[i]);
    benchmarks.push_back(std::move(repetition));
  }
  if (samples.size() > 1) AddAggregates(entry, samples, benchmarks);
}

}  // namespace

Json ToGoogleBenchmark(const SweepResult& result) {
  Json made = {{"context", ContextJson(result.context)},
               {"benchmarks", Json::array()}};
  for (std::size_t i = 0; i < result.cells.size(); ++i) {
    AddCell(result.cells[i], i, made["benchmarks"]);
  }
  return made;
}

}  // namespace attnbench
