#include "harness/gbench.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "harness/error.h"
#include "harness/result_schema.h"
#include "harness/statistics.h"

namespace attnbench {
namespace {

const Json& Field(const Json& owner, const std::string& key,
                  const std::string& where) {
  if (!owner.is_object()) throw UserError(where, "is not an object");
  const auto found = owner.find(key);
  if (found == owner.end()) throw UserError(where, key + " is missing");
  return *found;
}

// The field, which must be of that type.
template <typename T>
T Get(const Json& owner, const std::string& key, const std::string& where) {
  try {
    return Field(owner, key, where).get<T>();
  } catch (const Json::type_error&) {
    throw UserError(
        where, fmt::format("{} is {}, which is not what a result has there",
                           key, Field(owner, key, where).dump()));
  }
}

void CheckIsSweep(const Json& document, const std::string& path) {
  const Json& kind = Field(document, "kind", path);
  if (kind != "sweep") {
    throw UserError(path, fmt::format("kind is {}, \"sweep\" is wanted: only a "
                                      "sweep has repetitions",
                                      kind.dump()));
  }
  const Json& version = Field(document, "schema_version", path);
  if (version != kSchemaVersion) {
    throw UserError(path, fmt::format("schema_version is {}, {} is wanted",
                                      version.dump(), kSchemaVersion));
  }
}

// What Google Benchmark's own context has of it; the rest are texts, as those
// that a benchmark's author may add there.
Json ContextOf(const Json& document, const std::string& path) {
  const Json& context = Field(document, "context", path);
  const std::string where = path + ": context";
  Json made = {
      {"date", Get<std::string>(context, "date", where)},
      {"executable", "attnbench"},
      {"num_cpus", Get<int>(context, "cores", where)},
      {"library_build_type",
       Get<std::string>(context, "build_type", where) == "Debug" ? "debug"
                                                                 : "release"},
      {"valid", Get<bool>(context, "valid", where) ? "true" : "false"}};
  for (const char* const key : {"commit", "build_id", "cpu", "simd"}) {
    made[key] = Get<std::string>(context, key, where);
  }
  return made;
}

// "soft/T=100/U=100/d=256/...": every axis that is not null, by its letter
// where it has one, then the options: different for different cells, and the
// same for the same cell of another result.
std::string NameOf(const AxisTable& table, const Json& cell,
                   const std::string& where) {
  auto name = Get<std::string>(cell, "mechanism", where);
  for (const Axis& axis : table) {
    const Json& value = Field(cell, axis.name, where);
    if (value.is_null()) continue;
    name += fmt::format("/{}={}", axis.letter.empty() ? axis.name : axis.letter,
                        AxisValueText(value));
  }
  for (const auto& [key, value] : Field(cell, "options", where).items()) {
    name += fmt::format("/{}={}", key, AxisValueText(value));
  }
  return name;
}

// A benchmark's entry without its times.
Json Entry(const std::string& name, int family, int threads) {
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

void AddCell(const AxisTable& table, const Json& cell, int index,
             const std::string& where, Json& benchmarks) {
  const std::string name = NameOf(table, cell, where);
  const Json entry = Entry(name, index, Get<int>(cell, "threads", where));
  if (const auto status = Get<std::string>(cell, "status", where);
      status != "ok") {
    Json failed = entry;
    failed["run_type"] = "aggregate";
    failed["aggregate_name"] = "error";
    failed["time_unit"] = nullptr;
    failed["error_occurred"] = true;
    failed["error_message"] =
        status + ": " + Get<std::string>(cell, "message", where);
    benchmarks.push_back(std::move(failed));
    return;
  }
  const auto samples = Get<std::vector<double>>(cell, "samples_ns", where);
  const auto trials = Get<std::int64_t>(cell, "trials_per_sample", where);
  if (samples.empty()) throw UserError(where, "samples_ns is empty");
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!(samples[i] > 0)) {
      throw UserError(where, fmt::format("samples_ns[{}] is {}, a time above 0 "
                                         "is wanted",
                                         i, samples[i]));
    }
    Json repetition = entry;
    repetition["run_type"] = "iteration";
    repetition["repetitions"] = samples.size();
    repetition["repetition_index"] = i;
    repetition["iterations"] = trials;
    SetTime(repetition, samples[i]);
    benchmarks.push_back(std::move(repetition));
  }
  if (samples.size() > 1) AddAggregates(entry, samples, benchmarks);
}

}  // namespace

Json ToGoogleBenchmark(const AxisTable& table, const Json& document,
                       const std::string& path) {
  CheckIsSweep(document, path);
  Json made = {{"context", ContextOf(document, path)},
               {"benchmarks", Json::array()}};
  const Json& cells = Field(document, "cells", path);
  if (!cells.is_array()) throw UserError(path + ": cells", "is not a list");
  for (std::size_t i = 0; i < cells.size(); ++i) {
    AddCell(table, cells[i], static_cast<int>(i),
            fmt::format("{}: cells[{}]", path, i), made["benchmarks"]);
  }
  return made;
}

}  // namespace attnbench
