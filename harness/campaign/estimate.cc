#include "harness/campaign/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "harness/inputs/workload.h"
#include "harness/measure/point_runner.h"
#include "harness/model/weights.h"
#include "mechanisms/common/check.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

// Fitted to the CPU time of one run of each file of experiments/ --quick, and
// of every mechanism in every mode and scope at T = U = 64 and 512, on an AMD
// EPYC with AVX-512: estimates were 0.5 to 1.9 of it.
constexpr double kLimitsSeconds = 0.25;   // of each precision and thread count
constexpr double kCellSeconds = 0.002;    // making and checking the least cell
constexpr double kProcessSeconds = 0.03;  // starting and ending one
constexpr double kReferenceFlopsPerNs = 2;
constexpr double kTrainingReferenceFlopsPerNs = 1;

// How fast what is timed is, by the end of the variant's name.
struct Speed {
  std::string_view variant;
  double flops_per_ns;
};
constexpr Speed kSpeeds[] = {{"exact", 25}, {"_O0", 0.25}, {"reference", 2}};
constexpr double kOtherFlopsPerNs = 5;
// The tables that scope attention reads and writes take few flops an entry.
constexpr double kTableBytesPerNs = 2;

constexpr double kMostDraws = 16;
// Samples beside the rounds: each draw is run once by the gate, once to count
// and once to be timed alone.
constexpr double kSamplesBeside = 3;
// Of the preparation of mode decode, with what finds out how long it is.
constexpr double kPrepareEpochs = 7;
// Of the reference, in decoding beside the whole first draw.
constexpr double kMostGateFlops = 2.0 * (1 << 27);

// Of a weight of a whole decoder, and of one times a row of the beam.
constexpr double kWeightSeconds = 4 / 70e9;
constexpr double kRowSeconds = 2 / 45e9;
constexpr double kDecoderRoundsBeside = 2;  // that gate and records take

// A step of the middle of the memory. A hard mechanism advances by an entry an
// output under `uniform`, and so that it has read all at the end elsewhere.
StepTrace TypicalStep(const Cell& cell, bool online) {
  const Index memory_length = cell.Int("memory_length");
  const Index advance = !online ? memory_length
                        : cell.Text("workload") == "uniform"
                            ? 1
                            : memory_length / cell.Int("output_length") + 1;
  const AxisValue& width = cell.axes.at("chunk_width");
  const Index weighted = width.is_null() ? advance : cell.Int("chunk_width");
  StepTrace step;
  step.inspected = std::min(advance + 1, memory_length);
  step.end = memory_length;
  step.position = memory_length - 1;
  step.begin = memory_length - std::min(weighted, memory_length);
  return step;
}

// The workload makes so many draws (workload.h) of states and memory in f64,
// and of the tables of scope attention.
double Draws(const Cell& cell) {
  const auto T = static_cast<double>(cell.Int("memory_length"));
  const auto U = static_cast<double>(cell.Int("output_length"));
  const auto d = static_cast<double>(cell.Int("dim"));
  const double numbers =
      (T + U) * d + (cell.Text("scope") == "attention" ? T * U : 0);
  const double bytes =
      static_cast<double>(cell.Int("batch")) * sizeof(double) * numbers;
  return std::clamp(std::floor(static_cast<double>(kMostDrawBytes) / bytes),
                    1.0, kMostDraws);
}

// The operations of one trial, timed in that scope. Counts are sums over
// outputs, so two of them tell any number.
Operations TrialOperations(const Cell& cell, bool attention_only) {
  const Mechanism<float>* const mechanism =
      FindMechanism<float>(cell.mechanism);
  ATTN_CHECK(mechanism != nullptr);
  const Config config = MakeConfig(cell);
  const StepTrace step = TypicalStep(cell, mechanism->Describe().online);
  const StepTrace steps[2] = {step, step};
  const auto count = [&](std::size_t outputs) {
    return mechanism->Count(config, {.memory_length = cell.Int("memory_length"),
                                     .steps = {steps, outputs},
                                     .scores_given = attention_only,
                                     .attention_only = attention_only});
  };
  const Operations one = count(1), two = count(2);
  const auto outputs = static_cast<double>(cell.Int("output_length"));
  const auto batch = static_cast<double>(cell.Int("batch"));
  Operations all;
  all.flops = batch * (one.flops + (outputs - 1) * (two.flops - one.flops));
  all.bytes = batch * (one.bytes + (outputs - 1) * (two.bytes - one.bytes));
  return all;
}

double FlopsPerNs(const Cell& cell) {
  if (cell.is_peers) return kSpeeds[0].flops_per_ns;
  const std::string variant = cell.Text("variant");
  for (const Speed& known : kSpeeds) {
    if (variant.ends_with(known.variant)) return known.flops_per_ns;
  }
  return kOtherFlopsPerNs;
}

double TrialNs(const Cell& cell) {
  const bool attention_only = cell.Text("scope") == "attention";
  const Operations operations = TrialOperations(cell, attention_only);
  const double table_ns =
      attention_only ? operations.bytes / kTableBytesPerNs : 0;
  return (operations.flops / FlopsPerNs(cell) + table_ns) /
         static_cast<double>(cell.Int("threads"));
}

// The time of the check against the reference, which computes in scope full
// also what scope attention is given.
double GateNs(const Cell& cell) {
  const double flops = TrialOperations(cell, /*attention_only=*/false).flops;
  const double draws = Draws(cell);
  if (cell.Text("mode") == "decode") {
    return std::min(draws * flops, flops + kMostGateFlops) /
           kReferenceFlopsPerNs;
  }
  return std::min(draws * flops, kMostGateFlops) / kTrainingReferenceFlopsPerNs;
}

double TrialsOfRound(const Sweep& sweep) {
  return std::ceil(static_cast<double>(sweep.trials) / sweep.repetitions);
}

// Of a whole decoder, without its attention: every step reads all weights, and
// a beam multiplies them by its rows.
double DecoderSeconds(const Sweep& sweep, const Cell& cell) {
  const auto d = static_cast<double>(cell.Int("dim"));
  const auto beam = static_cast<double>(cell.Int("beam"));
  const auto V = static_cast<double>(cell.Int("vocabulary"));
  const double of_encoder = 2 * kLayers * 8 * d * d;
  const double of_decoder = 22 * d * d + V * d;
  const double of_rows_s = beam == 1 ? 0 : beam * kRowSeconds;
  const double steps = static_cast<double>(cell.Int("memory_length")) / 2 + 1;
  return static_cast<double>(cell.Int("batch")) * steps *
         (of_encoder * kWeightSeconds +
          of_decoder * (kWeightSeconds + of_rows_s)) *
         (sweep.repetitions * TrialsOfRound(sweep) + kDecoderRoundsBeside);
}

double CellSeconds(const Sweep& sweep, const Cell& cell) {
  if (cell.skip_reason) return 0;
  if (IsWholeDecoder(cell.axes)) return DecoderSeconds(sweep, cell);
  const RunOptions defaults;
  const double draws = Draws(cell);
  const double trials_of_round = std::max(draws, TrialsOfRound(sweep));
  const double trial_ns = TrialNs(cell);
  const double sample_ns =
      std::max(defaults.epoch_ns, trials_of_round * trial_ns);
  const double beside_ns =
      kSamplesBeside * std::max(defaults.epoch_ns, draws * trial_ns) +
      (cell.Text("mode") == "decode" ? kPrepareEpochs * defaults.epoch_ns : 0);
  return kCellSeconds +
         1e-9 * (GateNs(cell) + beside_ns + sweep.repetitions * sample_ns);
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
    if (sweep.processes > 1) {
      seconds = sweep.processes * (kProcessSeconds + seconds);
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
