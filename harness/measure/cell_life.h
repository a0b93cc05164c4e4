// The life of a cell, whatever is timed: its check, its rounds, each draw
// alone, and what a result says of it. A step that fails is kept, so that the
// other cells go on.
#ifndef ATTNBENCH_HARNESS_MEASURE_CELL_LIFE_H_
#define ATTNBENCH_HARNESS_MEASURE_CELL_LIFE_H_

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/inputs/workload.h"
#include "harness/measure/decode_gate.h"
#include "harness/measure/point_runner.h"
#include "harness/peer/peer.h"

namespace attnbench {

// None where there is no such figure.
inline std::optional<double> Known(double value) {
  if (!std::isfinite(value)) return {};
  return value;
}

class CellLife : public CellRun {
 public:
  // Both outlive the run.
  CellLife(const Cell& cell, const RunOptions& options)
      : cell_(cell), options_(options) {
    if (cell.skip_reason) Fail(CellStatus::kSkipped, *cell.skip_reason);
  }

  void Check() final {
    Guarded([this] { Prepare(); });
  }
  void TimeRound(int round) final {
    Guarded([&] {
      const std::optional<double> before = PageFaults();
      SetSample(round, TimeWhole(round), samples_ns_);
      const std::optional<double> after = PageFaults();
      if (before && after) {
        SetSample(round,
                  (*after - *before) / static_cast<double>(trials_per_sample_),
                  page_faults_);
      }
      TimePart(round);
    });
  }
  void MeasureDraws() final {
    Guarded([this] {
      if (options_.counter != nullptr) {
        instructions_ = TrialInstructions();
      } else if (!cell_.replicate) {
        TimeEachDraw();
      }
    });
  }
  ResultCell Result() const final {
    ResultCell result = FailedCell(cell_, status_, message_);
    if (is_ok() || (gate_ && !gate_->message.empty())) {
      result.numerics.emplace();
      if (gate_) {
        result.numerics->error = Known(gate_->error);
        result.numerics->error_bound = Known(gate_->error_bound);
      }
    }
    if (!is_ok()) return result;
    result.message.reset();
    result.instructions = instructions_;
    if (options_.counter != nullptr) return result;
    result.samples_ns = samples_ns_;
    result.trials_per_sample = trials_per_sample_;
    if (!page_faults_.empty()) {
      result.page_faults = *std::ranges::max_element(page_faults_);
    }
    Describe(result);
    return result;
  }

 protected:
  // Checks and counts, and says how many trials a sample has.
  virtual void Prepare() = 0;
  // The time of a trial of the whole.
  virtual double TimeWhole(int round) = 0;
  // Times what is measured beside the whole, if anything is.
  virtual void TimePart(int /*round*/) {}
  virtual void TimeEachDraw() {}
  // The instructions of a trial, mean over the draws.
  virtual double TrialInstructions() = 0;
  // The page faults so far of what runs the trials; none if it does not tell.
  virtual std::optional<double> PageFaults() const = 0;
  // Adds what only such cells have, and summarizes the result.
  virtual void Describe(ResultCell& result) const = 0;

  void Fail(CellStatus status, const std::string& message) {
    status_ = status;
    message_ = message;
  }

  void Gate(GateResult result) {
    gate_ = std::move(result);
    if (!gate_->message.empty()) Fail(CellStatus::kInvalid, gate_->message);
  }

  bool is_ok() const { return status_ == CellStatus::kOk; }

  const Cell& cell_;
  const RunOptions& options_;
  Index trials_per_sample_ = 1;

 private:
  // Runs a step of a cell that has not failed; an exception becomes the cell's
  // failure. Throws UserError.
  template <class Step>
  void Guarded(const Step& step) {
    if (!is_ok()) return;
    try {
      step();
    } catch (const UserError&) {
      throw;
    } catch (const Unsupported& error) {
      Fail(CellStatus::kSkipped, error.what());
    } catch (const WorkloadUnsupported& error) {
      Fail(CellStatus::kSkipped, error.what());
    } catch (const PeerTimeout& error) {
      Fail(CellStatus::kTimeout, error.what());
    } catch (const std::bad_alloc&) {
      Fail(CellStatus::kError, "needs more memory than there is");
    } catch (const std::exception& error) {
      Fail(CellStatus::kError, error.what());
    } catch (...) {
      Fail(CellStatus::kError, "threw something that is no std::exception");
    }
  }

  CellStatus status_ = CellStatus::kOk;
  std::string message_;
  std::optional<GateResult> gate_;
  std::optional<double> instructions_;
  std::vector<double> samples_ns_;
  std::vector<double> page_faults_;  // a trial, of each round
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MEASURE_CELL_LIFE_H_
