#include "harness/replicates.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "harness/statistics.h"
#include "harness/summary.h"
#include "harness/sums.h"

namespace attnbench {
namespace {

// The figure in which two processes differ; empty: none.
std::string Difference(const Json& a, const Json& b, bool is_peers) {
  for (const char* figure : {"operations", "latency", "peak_memory_bytes"}) {
    if (a.at(figure) != b.at(figure)) return figure;
  }
  for (const auto& [name, value] : a.at("numerics").items()) {
    const Json& other = b.at("numerics").at(name);
    // What a peer's sums may differ by, its error does by far more.
    const bool is_sum = name != "error" && name != "error_bound";
    if (is_peers ? is_sum && !IsSameSum(a, value, other) : value != other) {
      return "numerics." + name;
    }
  }
  return "";
}

void SetInvalid(const std::string& message, Json& cell) {
  cell["status"] = "invalid";
  cell["message"] = message;
  for (const char* key : {"samples_ns", "prepare_samples_ns", "draw_ns"}) {
    cell[key] = Json::array();
  }
  for (const char* key : {"trials_per_sample", "operations", "latency",
                          "peak_memory_bytes", "limit"}) {
    cell[key] = nullptr;
  }
  for (const char* sum : kSums) {
    cell["numerics"][sum] = nullptr;
  }
}

Json MedianOfEachDraw(std::span<const Json> cells) {
  Json medians = Json::array();
  for (std::size_t draw = 0; draw < cells[0].at("draw_ns").size(); ++draw) {
    std::vector<double> times;
    for (const Json& cell : cells) times.push_back(cell["draw_ns"].at(draw));
    medians.push_back(Median(times));
  }
  return medians;
}

}  // namespace

Json JoinReplicates(std::span<const Json> cells, bool is_peers) {
  Json joined = cells[0];
  joined["processes"] = cells.size();
  for (std::size_t i = 1; i < cells.size(); ++i) {
    const std::string figure = Difference(cells[0], cells[i], is_peers);
    if (!figure.empty()) {
      SetInvalid(fmt::format("{} of process {} of {} is not that of process 1",
                             figure, i + 1, cells.size()),
                 joined);
      break;
    }
    for (const char* key : {"samples_ns", "prepare_samples_ns"}) {
      for (const Json& sample : cells[i].at(key)) joined[key].push_back(sample);
    }
  }
  if (joined["status"] == "ok") joined["draw_ns"] = MedianOfEachDraw(cells);
  Summarize(joined);
  if (!joined["limit"].is_null()) {
    joined["limit"]["fraction"] = joined["limit"]["limit_ns"].get<double>() /
                                  joined["median_ns"].get<double>();
  }
  return joined;
}

}  // namespace attnbench
