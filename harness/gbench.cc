#include "harness/gbench.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/statistics.h"

namespace attnbench {
namespace {

// What Google Benchmark's own context has of it; the rest are texts, as those
// that a benchmark's author may add there.
Json ContextJson(const Json& context) {
  Json made = {{"date", context.at("date")},
               {"executable", "attnbench"},
               {"num_cpus", context.at("cores")},
               {"library_build_type",
                context.at("build_type") == "Debug" ? "debug" : "release"},
               {"valid", context.at("valid") == true ? "true" : "false"}};
  for (const char* const key : {"commit", "build_id", "cpu", "simd"}) {
    made[key] = context.at(key);
  }
  return made;
}

// "soft/T=100/U=100/d=256/...": every axis that is not null, by its letter
// where it has one, then the options: different for different cells, and the
// same for the same cell of another result.
std::string NameOf(const AxisTable& table, const Json& cell) {
  auto name = cell.at("mechanism").get<std::string>();
  for (const Axis& axis : table) {
    const Json& value = cell.at(axis.name);
    if (value.is_null()) continue;
    name += fmt::format("/{}={}", axis.letter.empty() ? axis.name : axis.letter,
                        AxisValueText(value));
  }
  for (const auto& [key, value] : cell.at("options").items()) {
    name += fmt::format("/{}={}", key, AxisValueText(value));
  }
  return name;
}

// A benchmark's entry without its times.
Json Entry(const std::string& name, std::size_t family, const Json& threads) {
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

// Of a sample, n - 1 in the denominator; at least two values.
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

void AddCell(const AxisTable& table, const Json& cell, std::size_t index,
             Json& benchmarks) {
  const Json entry = Entry(NameOf(table, cell), index, cell.at("threads"));
  if (const auto status = cell.at("status").get<std::string>();
      status != "ok") {
    Json failed = entry;
    failed["run_type"] = "aggregate";
    failed["aggregate_name"] = "error";
    failed["time_unit"] = nullptr;
    failed["error_occurred"] = true;
    failed["error_message"] =
        status + ": " + cell.at("message").get<std::string>();
    benchmarks.push_back(std::move(failed));
    return;
  }
  const auto samples = cell.at("samples_ns").get<std::vector<double>>();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Json repetition = entry;
    repetition["run_type"] = "iteration";
    repetition["repetitions"] = samples.size();
    repetition["repetition_index"] = i;
    repetition["iterations"] = cell.at("trials_per_sample");
    SetTime(repetition, samples[i]);
    benchmarks.push_back(std::move(repetition));
  }
  if (samples.size() > 1) AddAggregates(entry, samples, benchmarks);
}

}  // namespace

Json ToGoogleBenchmark(const AxisTable& table, const Json& document) {
  Json made = {{"context", ContextJson(document.at("context"))},
               {"benchmarks", Json::array()}};
  const Json& cells = document.at("cells");
  for (std::size_t i = 0; i < cells.size(); ++i) {
    AddCell(table, cells[i], i, made["benchmarks"]);
  }
  return made;
}

}  // namespace attnbench
