#include "harness/campaign/replicates.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/machine/calibration.h"
#include "harness/results/summary.h"
#include "harness/results/sums.h"
#include "mechanisms/common/check.h"

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
    const Numerics& of_a = *a.numerics;
    const Numerics& of_b = *b.numerics;
    if (is_peers ? !IsSameSum(sum, a.precision(), of_a, of_b)
                 : of_a.*sum.value != of_b.*sum.value) {
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
  cell.builds = 1;
  cell.samples_ns.clear();
  cell.prepare_samples_ns.clear();
  cell.draw_ns.clear();
  cell.trials_per_sample.reset();
  cell.operations.reset();
  cell.instructions.reset();
  cell.latency.reset();
  cell.peak_memory_bytes.reset();
  cell.page_faults.reset();
  cell.limit.reset();
  cell.decoder.reset();
  for (const Sum& sum : kSums) (*cell.numerics.*sum.value).reset();
}

void Append(const std::vector<double>& more, std::vector<double>& to) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

void AddProcess(const ResultCell& next, const ProcessPlan& plan, bool is_peers,
                ResultCell& joined) {
  const std::int64_t number = joined.processes + 1;
  if (!next.is_ok()) {
    joined = next;
    joined.message = fmt::format("process {} of {}: {}", number, plan.processes,
                                 *next.message);
    joined.processes = plan.processes;
    return;
  }
  const std::string figure = Difference(joined, next, is_peers);
  if (!figure.empty()) {
    SetInvalid(fmt::format("{} of process {} of {} is not that of process 1",
                           figure, number, plan.processes),
               joined);
    joined.processes = plan.processes;
  } else {
    joined.processes = number;
    joined.builds = number % plan.builds == 0 ? plan.builds
                    : number < plan.builds    ? number
                                              : 1;
    Append(next.samples_ns, joined.samples_ns);
    Append(next.prepare_samples_ns, joined.prepare_samples_ns);
    joined.page_faults = std::max(joined.page_faults, next.page_faults);
    if (joined.decoder) {
      Append(next.decoder->attention_samples_ns,
             joined.decoder->attention_samples_ns);
    }
  }
  Summarize(joined);
  if (joined.limit) {
    SetFraction(*joined.median_ns, joined.interval_ns, *joined.limit);
  }
}

void AddProcess(const FinishedPoint& next, const Point& planned,
                const ProcessPlan& plan, FinishedPoint& joined) {
  if (joined.cells.empty()) {
    joined = next;
    return;
  }
  auto given = next.cells.begin();
  for (std::size_t i = 0; i < joined.cells.size(); ++i) {
    if (!joined.cells[i].is_ok()) continue;
    ATTN_CHECK(given != next.cells.end());
    AddProcess(*given++, plan, planned.cells[i].is_peers, joined.cells[i]);
  }
  joined.runs.insert(next.runs.begin(), next.runs.end());
  if (joined.calibration && next.calibration) {
    joined.calibration = Joined(*joined.calibration, *next.calibration);
  } else if (next.calibration) {
    joined.calibration = next.calibration;
  }
}

}  // namespace attnbench
