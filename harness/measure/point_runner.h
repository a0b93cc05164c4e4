// Measures one point: checks every cell against its reference, counts, and
// times all of them against each other in rounds. No other file decides what is
// timed, when, and how often.
#ifndef ATTNBENCH_HARNESS_MEASURE_POINT_RUNNER_H_
#define ATTNBENCH_HARNESS_MEASURE_POINT_RUNNER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "harness/inputs/point_inputs.h"
#include "harness/machine/roofline.h"
#include "harness/peer/peer.h"
#include "harness/results/cell.h"
#include "harness/sweep/sweep.h"

namespace attnbench {

// A sample of the preparation lasts for so much of a sample of the whole.
inline constexpr double kPreparationShare = 0.25;

struct RunOptions {
  std::uint64_t seed = 1;
  int repetitions = 10;   // rounds
  int first_round = 0;    // its number, after those of earlier processes
  int trials = 1;         // least number of trials over all rounds
  double epoch_ns = 1e6;  // a sample lasts about this long, and at least
                          // 100 times the clock's resolution
  Index most_draws = kMostDraws;
  // The machine's, for the field `limit` of cells. They outlive the runs.
  std::span<const MachineLimits> limits = {};
  Peer* peer = nullptr;  // what runs the cells that are a peer's
  // The clock's own time goes here, once a round (calibration.h); null: it is
  // not taken.
  std::vector<double>* calibration_ns = nullptr;
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
  // One sample, and one of the preparation where there is any.
  virtual void TimeRound(int round) = 0;
  // Each draw alone.
  virtual void TimeDraws() = 0;
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

// What all cells give after all their steps: checks, rounds in an order
// shuffled by `point_key`, each draw alone.
std::vector<ResultCell> RunCells(std::span<const std::unique_ptr<CellRun>> runs,
                                 std::uint64_t point_key,
                                 const RunOptions& options,
                                 const StepBegins& begins);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MEASURE_POINT_RUNNER_H_
