// Measures one point: checks every cell against its reference, counts, and
// times all of them against each other in rounds. No other file decides what is
// timed, when, and how often.
#ifndef ATTNBENCH_HARNESS_MEASURE_POINT_RUNNER_H_
#define ATTNBENCH_HARNESS_MEASURE_POINT_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "harness/inputs/point_inputs.h"
#include "harness/machine/calibration.h"
#include "harness/machine/roofline.h"
#include "harness/measure/instructions.h"
#include "harness/peer/peer.h"
#include "harness/results/cell.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

// A sample of the preparation lasts for so much of a sample of the whole.
inline constexpr double kPreparationShare = 0.25;

// Times the probes of a round (calibration.h), and keeps what they said.
struct Probing {
  std::function<ProbeTimes()> probe;
  ProbedRounds rounds = {};
};

struct RunOptions {
  std::uint64_t seed = 1;
  int repetitions = 10;   // rounds
  int first_round = 0;    // its number, after those of earlier processes
  int trials = 1;         // least number of trials over all rounds
  double epoch_ns = 1e6;  // a sample lasts about this long, and at least
                          // 100 times the clock's resolution
  Index most_draws = kMostDraws;
  ArrayGaps* gaps = nullptr;  // of what is drawn, and where cells write
  // The machine's, for the field `limit` of cells. They outlive the runs.
  std::span<const MachineLimits> limits = {};
  Peer* peer = nullptr;  // what runs the cells that are a peer's
  // What the probes say goes here; null: none are timed, and no round strays.
  Probing* probing = nullptr;
  // Counts the instructions of cells that an ordinary process has checked and
  // timed before, so there are no rounds; null: none are counted.
  InstructionCounter* counter = nullptr;
  // The least number of trials of one round.
  Index trials_of_round() const {
    return (trials + repetitions - 1) / repetitions;
  }
};

// Called as a step begins (a cell's check, one of its rounds, its draws), with
// the number of the cell and the share of the point that is done.
using StepBegins = std::function<void(std::size_t cell, double share)>;

// The cells of a point as they stand in a result. Never throws for a failing
// cell: it becomes status `error`, `invalid` or `skipped` with its message, and
// the others go on. Throws UserError for a workload that cannot be read, which
// no cell could use.
std::vector<ResultCell> RunPoint(const Point& point, const RunOptions& options,
                                 const StepBegins& begins);

// A cell while it is measured. After one that failed, nothing more is done for
// it and it has no times.
class CellRun {
 public:
  virtual ~CellRun() = default;
  // The gate, the counts, and how many trials a sample has.
  virtual void Check() = 0;
  // Sample number `round`, and that of the preparation where there is any; the
  // same round once more replaces them.
  virtual void TimeRound(int round) = 0;
  // Each draw alone: its time, in the first process, or its instructions.
  virtual void MeasureDraws() = 0;
  virtual ResultCell Result() const = 0;
};

// The inputs, made when a cell first needs them; may throw what MakeWorkload
// throws.
template <class Real>
using InputsSource = std::function<PointInputs<Real>&()>;

// A run of `cell` by `mechanism`. Everything that is referred to outlives it.
template <class Real>
std::unique_ptr<CellRun> MakeCellRun(const Cell& cell,
                                     const Mechanism<Real>& mechanism,
                                     InputsSource<Real> inputs,
                                     const RunOptions& options);

// Rounds a number of trials up to whole turns of all draws, unless it is 1: if
// trials repeated one draw, the processor would learn where its scan ends, and
// find its memory in nearer caches than other cells theirs.
Index WholeTurns(Index trials, Index num_draws);

// The draws whose turn it is in a sample of so many trials: all, each equally
// often; in a sample of one trial one of them, by the number of the round over
// all processes, so that it is the same in all cells of a round.
std::span<const int> DrawsOfSample(std::span<const int> draws, Index trials,
                                   Index round);

// Gives the order in which a round times its cells, a permutation of
// 0 .. count - 1. Each round of all processes has its own, so that drift of the
// machine falls on all cells alike. It depends only on the seed and on what the
// point is, so it is the same in a longer sweep or a shard. Google Benchmark's
// own interleaving cannot be seeded.
std::vector<std::size_t> RoundOrder(std::uint64_t seed, std::uint64_t point_key,
                                    int round, std::size_t count);

// What all cells give after all their steps: checks, rounds in an order
// shuffled by `point_key`, each draw alone.
//
// Rounds that strayed (calibration.h) are measured again after the last one, in
// their own orders and once at most, up to half of all rounds. The probes come
// before the cells: where they stray as far as they did before, the round is
// left as it was.
std::vector<ResultCell> RunCells(std::span<const std::unique_ptr<CellRun>> runs,
                                 std::uint64_t point_key,
                                 const RunOptions& options,
                                 const StepBegins& begins);

// Puts a figure of a round in its place; rounds come in turn, or again.
inline void SetSample(int round, double figure, std::vector<double>& figures) {
  const auto place = static_cast<std::size_t>(round);
  if (place >= figures.size()) figures.resize(place + 1);
  figures[place] = figure;
}

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MEASURE_POINT_RUNNER_H_
