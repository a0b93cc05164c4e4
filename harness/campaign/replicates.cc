#include "harness/campaign/replicates.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "harness/results/summary.h"
#include "harness/results/sums.h"
#include "harness/stats/statistics.h"

namespace attnbench {
namespace {

// The figure in which two processes differ; empty: none.
std::string Difference(const ResultCell& a, const ResultCell& b,
                       bool is_peers) {
  if (ToJson(a.operations) != ToJson(b.operations)) return "operations";
  if (a.latency != b.latency) return "latency";
  if (a.peak_memory_bytes != b.peak_memory_bytes) return "peak_memory_bytes";
  if (a.decoder && ToJson(a.decoder->reads) != ToJson(b.decoder->reads)) {
    return "decoder.reads";
  }
  for (const Sum& sum : kSums) {
    const std::optional<double> of_a = *a.numerics.*sum.value;
    const std::optional<double> of_b = *b.numerics.*sum.value;
    if (is_peers ? !IsSameSum(a.Text("precision"), of_a, of_b) : of_a != of_b) {
      return fmt::format("numerics.{}", sum.name);
    }
  }
  // What a peer's sums may differ by, its error does by far more. Only the
  // first process compares what it decodes.
  if (is_peers || !b.numerics->error) return "";
  if (a.numerics->error != b.numerics->error) return "numerics.error";
  if (a.numerics->error_bound != b.numerics->error_bound) {
    return "numerics.error_bound";
  }
  return "";
}

void SetInvalid(const std::string& message, ResultCell& cell) {
  cell.status = CellStatus::kInvalid;
  cell.message = message;
  cell.samples_ns.clear();
  cell.prepare_samples_ns.clear();
  cell.draw_ns.clear();
  cell.trials_per_sample.reset();
  cell.operations.reset();
  cell.latency.reset();
  cell.peak_memory_bytes.reset();
  cell.limit.reset();
  cell.decoder.reset();
  for (const Sum& sum : kSums) (*cell.numerics.*sum.value).reset();
}

std::vector<double> MedianOfEachDraw(std::span<const ResultCell> cells) {
  std::vector<double> medians;
  for (std::size_t draw = 0; draw < cells[0].draw_ns.size(); ++draw) {
    std::vector<double> times;
    for (const ResultCell& cell : cells) times.push_back(cell.draw_ns.at(draw));
    medians.push_back(Median(times));
  }
  return medians;
}

void Append(const std::vector<double>& more, std::vector<double>& to) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

ResultCell JoinReplicates(std::span<const ResultCell> cells, bool is_peers) {
  ResultCell joined = cells[0];
  joined.processes = static_cast<std::int64_t>(cells.size());
  for (std::size_t i = 1; i < cells.size(); ++i) {
    const std::string figure = Difference(cells[0], cells[i], is_peers);
    if (!figure.empty()) {
      SetInvalid(fmt::format("{} of process {} of {} is not that of process 1",
                             figure, i + 1, cells.size()),
                 joined);
      break;
    }
    Append(cells[i].samples_ns, joined.samples_ns);
    Append(cells[i].prepare_samples_ns, joined.prepare_samples_ns);
    if (!joined.decoder) continue;
    Append(cells[i].decoder->attention_samples_ns,
           joined.decoder->attention_samples_ns);
  }
  if (joined.is_ok()) joined.draw_ns = MedianOfEachDraw(cells);
  Summarize(joined);
  if (joined.limit) {
    joined.limit->fraction = joined.limit->limit_ns / *joined.median_ns;
  }
  return joined;
}

}  // namespace attnbench
