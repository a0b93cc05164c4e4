#include "harness/campaign/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "harness/inputs/workload.h"
#include "harness/measure/gate_rounding.h"
#include "harness/measure/point_runner.h"
#include "harness/measure/whole_decoder_cell.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

const double kEpochNs = RunOptions().epoch_ns;

// Rough guesses at the harness's own work, which matters where trials are
// short.
constexpr double kLimitsSeconds = 0.25;    // of each precision and thread count
constexpr double kCellSeconds = 0.002;     // making and checking the least cell
constexpr double kProcessSeconds = 0.1;    // starting and ending one
constexpr double kNumberNs = 8;            // making a number of the inputs
constexpr double kSamplesBeside = 2;       // calibration
constexpr double kProbesSeconds = 2.5e-4;  // the probes of a round
constexpr double kWorkNs = 1;  // of a multiply-add that is not measured

constexpr int kProbeRounds = 2;
// Of the longer of a whole decoder's source and output.
constexpr double kProbeLength = 16;

double Number(const Cell& cell, const char* axis) {
  return static_cast<double>(cell.Int(axis));
}

WorkloadKind WorkloadOf(const Cell& cell) {
  return ParseWorkload(cell.Text("workload")).kind;
}

bool IsDecoding(const Cell& cell) { return cell.mode() == Mode::kDecode; }

// Whether an output chooses entries and does not read the whole memory.
bool Scans(const Cell& cell) {
  const auto* const mechanism = FindMechanism<float>(cell.mechanism);
  return IsDecoding(cell) && mechanism != nullptr &&
         mechanism->Describe().online;
}

// Numbers of a sequence's memory and states, those of chunks, and its scores.
double InputNumbers(const Cell& cell) {
  const double T = Number(cell, "memory_length");
  const double U = Number(cell, "output_length");
  const double d = Number(cell, "dim");
  return 2 * (T + U) * d + (cell.scope() == Scope::kAttention ? 2 * T * U : 0);
}

double Draws(const Cell& cell) {
  if (WorkloadOf(cell) == WorkloadKind::kFile) return 1;
  const double bytes =
      Number(cell, "batch") * sizeof(double) * InputNumbers(cell);
  return std::clamp(std::floor(static_cast<double>(kMostDrawBytes) / bytes),
                    1.0, static_cast<double>(kMostDraws));
}

// The multiply-adds of the reference for an output and an entry that it reads,
// as the gates count them (decode_gate.cc, training_gate.cc).
double EntryWork(const Cell& cell) {
  const double d = Number(cell, "dim");
  const AxisValue& energy = cell.axes.at("energy");
  const bool is_product = energy.is_null() || energy.text() == "dot";
  return Number(cell, "batch") *
         ((is_product ? d : d * d) +
          (IsDecoding(cell) ? 0 : Number(cell, "memory_length")));
}

double OutputWork(const Cell& cell) {
  const double T = Number(cell, "memory_length");
  const double passed = T / Number(cell, "output_length") + 1;
  return EntryWork(cell) * (Scans(cell) ? std::min(T, passed) : T);
}

// How many outputs of all draws are checked against the reference.
double CheckedOutputs(const Cell& cell) {
  const double U = Number(cell, "output_length");
  const double affordable =
      kReferenceBudget / EntryWork(cell) / Number(cell, "memory_length");
  return std::min(Draws(cell) * U,
                  (IsDecoding(cell) ? U : 0) + Draws(cell) + affordable);
}

double TrialsOfRound(const Sweep& sweep) {
  return std::ceil(static_cast<double>(sweep.trials) / sweep.repetitions);
}

// The steps of a whole decoder in all its sources (whole_decoder_inputs.h).
double Steps(const Cell& cell) {
  return Number(cell, "batch") * (Number(cell, "output_length") / 2 + 1) + 1;
}

// The same with the encoder's, of which one takes about as long.
double AllSteps(const Cell& cell) {
  if (cell.Text("encoder") == "given") return Steps(cell);
  return Steps(cell) +
         Number(cell, "batch") * Number(cell, "memory_length") / 2;
}

struct CellTimes {
  double trial_ns = 0;
  double gate_ns = 0;  // of a whole decoder with the drawing of its weights
};

CellTimes Guess(const Cell& cell) {
  if (IsWholeDecoder(cell.axes)) {
    const double d = Number(cell, "dim");
    const double layers = Number(cell, "layers");
    const double weights =
        ((2 + 10 * layers) * d + Number(cell, "vocabulary")) * d;
    return {kWorkNs * Steps(cell) * weights * Number(cell, "beam"), 0};
  }
  const double output_ns = kWorkNs * OutputWork(cell);
  return {Number(cell, "output_length") * output_ns / Number(cell, "threads"),
          CheckedOutputs(cell) * output_ns};
}

bool IsLong(const Sweep& sweep, const Cell& cell) {
  return std::max(Draws(cell), TrialsOfRound(sweep)) * Guess(cell).trial_ns >
         kEpochNs;
}

// The cell with so many outputs. A scan passes as many entries an output.
Cell Shortened(Cell cell, std::int64_t outputs) {
  const bool scans = Scans(cell);
  if (scans) {
    const double passed =
        Number(cell, "memory_length") / Number(cell, "output_length");
    cell.axes["memory_length"] = std::max<std::int64_t>(
        1, std::llround(passed * static_cast<double>(outputs)));
  }
  const WorkloadKind workload = WorkloadOf(cell);
  if (workload == WorkloadKind::kFile ||
      (workload == WorkloadKind::kPlanted && !scans)) {
    cell.axes["workload"] = "uniform";
  }
  cell.axes["output_length"] = outputs;
  return cell;
}

// The cell with two small numbers of outputs. The model of a whole decoder
// takes equally long for every symbol, so one source tells.
std::vector<Cell> ProbesOf(const Cell& cell) {
  if (IsWholeDecoder(cell.axes)) {
    Cell probe = cell;
    probe.axes["batch"] = 1;
    const double longest =
        std::max(Number(cell, "memory_length"), Number(cell, "output_length"));
    const double share = std::min(1.0, kProbeLength / longest);
    for (const char* axis : {"memory_length", "output_length"}) {
      probe.axes[axis] =
          std::max<std::int64_t>(1, std::llround(share * Number(cell, axis)));
    }
    return {probe};
  }
  const std::int64_t U = cell.Int("output_length");
  std::int64_t most = 4;
  while (most < 256 && 64 * most <= U) most *= 4;
  most = std::min(most, U);
  return {Shortened(cell, std::max<std::int64_t>(1, most / 4)),
          Shortened(cell, most)};
}

// Other work may slow a sample down, and nothing speeds one up.
double LeastNs(const std::vector<double>& samples_ns) {
  return *std::ranges::min_element(samples_ns);
}

// Attention grows as what it reads, and the model around it as the steps.
CellTimes ByDecoder(const Cell& cell, const Cell& probe,
                    const ResultCell& probed) {
  const double whole_ns = LeastNs(probed.samples_ns);
  const double steps = AllSteps(cell) / AllSteps(probe);
  CellTimes times = {steps * whole_ns, probed.gate_ns};
  if (cell.mechanism == kNoAttention) return times;
  const double reads = Steps(cell) / Steps(probe) * OutputWork(cell) /
                       (Number(cell, "batch") * OutputWork(probe));
  times.trial_ns +=
      (reads - steps) * LeastNs(probed.decoder->attention_samples_ns);
  return times;
}

// Along lines through two probes, which do not fall.
CellTimes ByProbes(const Cell& cell, const std::vector<Cell>& probes,
                   const std::vector<const ResultCell*>& probed) {
  const double few = Number(probes[0], "output_length");
  const double many = Number(probes[1], "output_length");
  const auto line = [&](double few_ns, double many_ns, double runs,
                        double outputs) {
    const double output_ns =
        std::max(0.0, many_ns - few_ns) / std::max(1.0, many - few);
    const double run_ns = std::max(0.0, many_ns - many * output_ns);
    return runs * run_ns + outputs * output_ns;
  };
  return {line(LeastNs(probed[0]->samples_ns), LeastNs(probed[1]->samples_ns),
               1, Number(cell, "output_length")),
          line(probed[0]->gate_ns, probed[1]->gate_ns, Draws(cell),
               CheckedOutputs(cell))};
}

// By all processes. The first alone checks what it decodes, and times each
// draw.
double CellSeconds(const Sweep& sweep, const Cell& cell,
                   const CellTimes& times) {
  const double processes = sweep.processes;
  // A sample of several trials goes through all draws (WholeTurns).
  const double trials = times.trial_ns < kEpochNs && !IsWholeDecoder(cell.axes)
                            ? std::max(Draws(cell), TrialsOfRound(sweep))
                            : TrialsOfRound(sweep);
  const double round_ns = trials * times.trial_ns;
  if (IsWholeDecoder(cell.axes)) {
    return processes * 1e-9 *
           (times.gate_ns + times.trial_ns +
            sweep.repetitions * (round_ns + kAttentionSampleNs));
  }
  // Each draw is counted twice, and one is calibrated with.
  const double trials_beside = 2 * Draws(cell) + 3;
  const double preparation_ns =
      IsDecoding(cell) ? kPreparationShare * kEpochNs : 0;
  const double gates = IsDecoding(cell) ? 1 : processes;
  const double draws_ns = std::max(kEpochNs, Draws(cell) * times.trial_ns);
  return processes * kCellSeconds +
         1e-9 *
             (gates * times.gate_ns + draws_ns +
              processes *
                  (trials_beside * times.trial_ns + kSamplesBeside * kEpochNs +
                   sweep.repetitions *
                       (std::max(kEpochNs, round_ns) + preparation_ns)));
}

}  // namespace

double TimeEstimate::total_s() const {
  return std::accumulate(point_s.begin(), point_s.end(), start_s);
}

Sweep ProbesOf(const Sweep& sweep) {
  std::vector<Cell> cells;
  for (const Point& point : sweep.points) {
    for (const Cell& cell : point.cells) {
      if (cell.skip_reason || !IsLong(sweep, cell)) continue;
      for (Cell& probe : ProbesOf(cell)) cells.push_back(std::move(probe));
    }
  }
  Sweep probes;
  probes.seed = sweep.seed;
  probes.repetitions = kProbeRounds;
  probes.points = GroupCells(std::move(cells));
  return probes;
}

TimeEstimate EstimateTime(const Sweep& sweep,
                          std::span<const ResultCell> probed) {
  std::map<std::string, const ResultCell*> by_key;
  for (const ResultCell& cell : probed) by_key[cell.Key()] = &cell;
  TimeEstimate estimate;
  // None where a probe failed.
  const auto times_of = [&](const Cell& cell) -> std::optional<CellTimes> {
    if (!IsLong(sweep, cell)) return Guess(cell);
    const std::vector<Cell> probes = ProbesOf(cell);
    std::vector<const ResultCell*> found;
    for (const Cell& probe : probes) {
      const auto place = by_key.find(probe.Key());
      if (place == by_key.end() || !place->second->is_ok()) {
        ++estimate.num_unknown;
        if (probed.empty()) return Guess(cell);
        return {};
      }
      found.push_back(place->second);
    }
    return IsWholeDecoder(cell.axes) ? ByDecoder(cell, probes[0], *found[0])
                                     : ByProbes(cell, probes, found);
  };
  std::set<std::pair<std::int64_t, Precision>> limits;
  for (const Point& point : sweep.points) {
    double seconds = 0, inputs_ns = 0;
    for (const Cell& cell : point.cells) {
      if (cell.skip_reason) continue;
      limits.emplace(cell.Int("threads"), cell.precision());
      const std::optional<CellTimes> times = times_of(cell);
      seconds += CellSeconds(sweep, cell, times.value_or(CellTimes()));
      if (!times || IsWholeDecoder(cell.axes)) continue;
      inputs_ns =
          kNumberNs * Draws(cell) * Number(cell, "batch") * InputNumbers(cell);
    }
    seconds += sweep.processes * 1e-9 * inputs_ns;
    // Skipped cells take no rounds.
    if (seconds > 0) {
      seconds += sweep.processes * sweep.repetitions * kProbesSeconds;
    }
    estimate.point_s.push_back(seconds);
  }
  estimate.start_s = kLimitsSeconds * static_cast<double>(limits.size()) +
                     (limits.empty() ? 0 : sweep.processes * kProcessSeconds);
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
