#include "harness/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "harness/runner.h"
#include "mechanisms/common/check.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

// Fitted to one run of each file of experiments/ --quick on two cores with
// AVX-512 (results/mocha_figure3.json names the processor).
constexpr double kLimitsSeconds =
    0.25;                               // for a precision and number of threads
constexpr double kCellSeconds = 0.002;  // making and checking the least cell
constexpr double kReferenceFlopsPerNs = 2;

// How fast what is timed is, by the end of the variant's name.
struct Speed {
  std::string_view variant;
  double flops_per_ns;
};
constexpr Speed kSpeeds[] = {{"exact", 25}, {"_O0", 0.25}, {"reference", 2}};
constexpr double kOtherFlopsPerNs = 5;
// Without energies, which are what runs fastest.
constexpr double kAttentionFlopsPerNs = 3;

constexpr double kDraws = 16;
// Samples beside the rounds: each draw is run once by the gate, once to count
// and once to be timed alone.
constexpr double kSamplesBeside = 3;
// Of the preparation of mode decode, with what finds out how long it is.
constexpr double kPrepareSamples = 7;
// What the gate spends on draws after the first.
constexpr double kMostGateFlops = 2.0 * (1 << 27);

// A step of the middle of the memory. A hard mechanism advances by an entry an
// output under `uniform`, and so that it has read all at the end elsewhere.
StepTrace TypicalStep(const Cell& cell, bool online) {
  const Index memory_length = cell.Int("memory_length");
  const Index advance = !online ? memory_length
                        : cell.Text("workload") == "uniform"
                            ? 1
                            : memory_length / cell.Int("output_length") + 1;
  const Json& width = cell.axes.at("chunk_width");
  const Index weighted = width.is_null() ? advance : cell.Int("chunk_width");
  StepTrace step;
  step.inspected = std::min(advance + 1, memory_length);
  step.end = memory_length;
  step.position = memory_length - 1;
  step.begin = memory_length - std::min(weighted, memory_length);
  return step;
}

// Of one trial. Counts are sums over outputs, so two of them tell any number.
double TrialFlops(const Cell& cell) {
  const Mechanism<float>* const mechanism =
      FindMechanism<float>(cell.mechanism);
  ATTN_CHECK(mechanism != nullptr);
  Config config = MakeConfig(cell);
  config.attention_only = cell.Text("scope") == "attention";
  config.scores_given = config.attention_only;
  const StepTrace steps[2] = {TypicalStep(cell, mechanism->Describe().online),
                              TypicalStep(cell, mechanism->Describe().online)};
  const Index memory_length = cell.Int("memory_length");
  const auto flops = [&](std::size_t outputs) {
    return mechanism->Count(config, memory_length, {steps, outputs}).flops;
  };
  const double of_step = flops(2) - flops(1);
  const auto outputs = static_cast<double>(cell.Int("output_length"));
  return static_cast<double>(cell.Int("batch")) *
         (flops(1) + (outputs - 1) * of_step);
}

double FlopsPerNs(const Cell& cell) {
  const std::string variant = cell.Text("variant");
  double speed = kOtherFlopsPerNs;
  for (const Speed& known : kSpeeds) {
    if (variant.ends_with(known.variant)) speed = known.flops_per_ns;
  }
  if (cell.is_peers) speed = kSpeeds[0].flops_per_ns;
  if (cell.Text("scope") == "attention") {
    speed = std::min(speed, kAttentionFlopsPerNs);
  }
  return speed * static_cast<double>(cell.Int("threads"));
}

double CellSeconds(const Sweep& sweep, const Cell& cell) {
  if (cell.skip_reason) return 0;
  const RunOptions defaults;
  const double flops = TrialFlops(cell);
  const double trials_of_round = std::max(
      kDraws, std::ceil(static_cast<double>(sweep.trials) / sweep.repetitions));
  const double trial_ns = flops / FlopsPerNs(cell);
  const double sample_ns =
      std::max(defaults.epoch_ns, trials_of_round * trial_ns);
  const double beside_ns =
      kSamplesBeside * std::max(defaults.epoch_ns, kDraws * trial_ns) +
      (cell.Text("mode") == "decode" ? kPrepareSamples * defaults.epoch_ns : 0);
  const double gate_ns =
      std::min(kDraws * flops, flops + kMostGateFlops) / kReferenceFlopsPerNs;
  return kCellSeconds +
         1e-9 * (gate_ns + beside_ns + sweep.repetitions * sample_ns);
}

}  // namespace

double TimeEstimate::total_s() const {
  return std::accumulate(point_s.begin(), point_s.end(), start_s);
}

TimeEstimate EstimateTime(const Sweep& sweep) {
  TimeEstimate estimate;
  std::set<std::pair<std::int64_t, std::string>> limits;
  for (const Point& point : sweep.points) {
    double seconds = 0;
    for (const Cell& cell : point.cells) {
      seconds += CellSeconds(sweep, cell);
      if (cell.skip_reason) continue;
      limits.emplace(cell.Int("threads"), cell.Text("precision"));
    }
    estimate.point_s.push_back(seconds);
  }
  estimate.start_s = kLimitsSeconds * static_cast<double>(limits.size());
  return estimate;
}

std::string DurationText(double seconds) {
  if (seconds <= 59) return fmt::format("{:.0f} s", std::ceil(seconds));
  const double minutes = std::ceil(seconds / 60);
  if (minutes < 60) return fmt::format("{:.0f} min", minutes);
  return fmt::format("{:.0f} h {:.0f} min", std::floor(minutes / 60),
                     std::fmod(minutes, 60));
}

}  // namespace attnbench
