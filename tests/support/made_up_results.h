// Result documents that no run made, for tests of what reads results.
#ifndef ATTNBENCH_TESTS_SUPPORT_MADE_UP_RESULTS_H_
#define ATTNBENCH_TESTS_SUPPORT_MADE_UP_RESULTS_H_

#include <string>
#include <utility>
#include <vector>

#include "harness/result_reader.h"
#include "harness/summary.h"

namespace attnbench::testing {

// A cell that is ok, of the point `memory_length` in 16 digits, every axis at
// its default.
inline Json MadeUpCell(const std::string& mechanism, int memory_length,
                       const std::vector<double>& samples_ns,
                       int processes = 1) {
  Json cell = {{"mechanism", mechanism}};
  for (const Axis& axis : StandardAxes()) {
    if (axis.declared) {
      cell[axis.name] = nullptr;
    } else if (axis.default_value.starts_with('=')) {
      cell[axis.name] = memory_length;
    } else {
      cell[axis.name] =
          ParseAxisValues(StandardAxes(), axis, axis.default_value, "")[0];
    }
  }
  cell["memory_length"] = memory_length;
  cell["options"] = {{"threshold", 0.5}};
  cell["status"] = "ok";
  cell["message"] = nullptr;
  cell["samples_ns"] = samples_ns;
  cell["trials_per_sample"] = 16;
  cell["processes"] = processes;
  cell["prepare_samples_ns"] = {1.0};
  cell["draw_ns"] = {10.0, 11.0};
  Summarize(cell);
  cell["operations"] = {{"energies", 10},
                        {"chunk_energies", 0},
                        {"memory_rows", 20},
                        {"flops", 100.5},
                        {"bytes", 400}};
  cell["latency"] = nullptr;
  cell["peak_memory_bytes"] = 4096;
  cell["limit"] = nullptr;
  cell["numerics"] = {{"attention_mass", 1.0},
                      {"context_sum", -0.25},
                      {"context_l2", 2.0},
                      {"error", 1e-7},
                      {"error_bound", 1e-5}};
  const std::string digits = std::to_string(memory_length);
  cell["point"] = std::string(16 - digits.size(), '0') + digits;
  return cell;
}

// Its points are those of the cells, in their order.
inline ResultDocument MadeUpResult(const std::string& path,
                                   const std::vector<Json>& cells) {
  Json context = {{"commit", "abc"},
                  {"build_id", "0123456789abcdef"},
                  {"command", "run-sweep"},
                  {"date", "2020-01-01T00:00:00Z"},
                  {"seed", 1},
                  {"cpu", "a processor"},
                  {"load", 0.25},
                  {"load_end", 1.25},
                  {"simd", "AVX2"},
                  {"valid", true},
                  {"invalid_reasons", Json::array()},
                  {"warnings", Json::array()},
                  {"points", Json::array()},
                  {"shard", nullptr},
                  {"limits", Json::array()},
                  {"calibration", Json::array()}};
  Json& points = context["points"];
  for (const Json& cell : cells) {
    if (points.empty() || points.back() != cell.at("point")) {
      points.push_back(cell.at("point"));
    }
  }
  return {path,
          {{"schema_version", 1},
           {"kind", "sweep"},
           {"context", std::move(context)},
           {"cells", cells}}};
}

}  // namespace attnbench::testing

#endif  // ATTNBENCH_TESTS_SUPPORT_MADE_UP_RESULTS_H_
