// Measures one point: checks every cell against its reference, counts, and
// times all of them against each other in rounds. No other file decides what is
// timed, when, and how often.
#ifndef ATTNBENCH_HARNESS_RUNNER_H_
#define ATTNBENCH_HARNESS_RUNNER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "harness/peer.h"
#include "harness/point_inputs.h"
#include "harness/roofline.h"
#include "harness/sweep.h"

namespace attnbench {

struct RunOptions {
  std::uint64_t seed = 1;
  int repetitions = 10;   // rounds
  int trials = 1;         // least number of trials over all rounds
  double epoch_ns = 1e6;  // a sample lasts about this long, and at least
                          // 100 times the clock's resolution
  // Of the machine, for the field `limit` of cells; outlive the runs.
  std::span<const MachineLimits> limits = {};
  Peer* peer = nullptr;  // what runs the cells that are a peer's
  // Where the clock's own time goes, once a round (calibration.h); null: it is
  // not taken.
  std::vector<double>* calibration_ns = nullptr;
};

// Called as a step begins (a cell's check, one of its rounds, its parts), with
// the number of the cell and the share of the point that is done.
using StepBegins = std::function<void(std::size_t cell, double share)>;

// One finished cell of the result document, in the format of
// results/schema/sweep.schema.json. Never throws for a failing cell: it becomes
// status `error`, `invalid` or `skipped` with its message, and the others go
// on. Throws UserError for a workload that cannot be read, which no cell
// could use.
std::vector<Json> RunPoint(const AxisTable& table, const Point& point,
                           const RunOptions& options, const StepBegins& begins);

// What the result document says of a cell that gave no numbers: every key of
// the format, and null or nothing where a figure would be.
Json FailedCell(const AxisTable& table, const Cell& cell,
                const std::string& status, const std::string& message);

// A cell while it is measured. After one that failed, nothing more is done for
// it and it has no times.
class CellRun {
 public:
  virtual ~CellRun() = default;
  // The gate, the counts, and how many trials a sample has.
  virtual void Check() = 0;
  // One sample.
  virtual void TimeRound(int round) = 0;
  // What is timed once: preparation, and each draw alone.
  virtual void TimeParts() = 0;
  virtual Json Result() const = 0;
};

// The inputs, made when a cell first needs them; may throw what MakeWorkload
// throws.
template <class Real>
using InputsSource = std::function<PointInputs<Real>&()>;

// A run of `cell` by `mechanism`. Everything that is referred to outlives it.
template <class Real>
std::unique_ptr<CellRun> MakeCellRun(const AxisTable& table, const Cell& cell,
                                     const Mechanism<Real>& mechanism,
                                     InputsSource<Real> inputs,
                                     const RunOptions& options);

// All steps of all cells: checks, rounds in an order shuffled by `point_key`,
// parts.
std::vector<Json> RunCells(std::span<const std::unique_ptr<CellRun>> runs,
                           std::uint64_t point_key, const RunOptions& options,
                           const StepBegins& begins);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_RUNNER_H_
