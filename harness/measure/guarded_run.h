// Keeps how a cell failed, so that the others go on.
#ifndef ATTNBENCH_HARNESS_MEASURE_GUARDED_RUN_H_
#define ATTNBENCH_HARNESS_MEASURE_GUARDED_RUN_H_

#include <ctime>
#include <exception>
#include <new>
#include <string>

#include "harness/base/error.h"
#include "harness/inputs/workload.h"
#include "harness/measure/point_runner.h"
#include "harness/peer/peer.h"

namespace attnbench {

class GuardedRun : public CellRun {
 protected:
  void Fail(CellStatus status, const std::string& message) {
    status_ = status;
    message_ = message;
  }

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

  // The CPU time of the gate, which other programs do not lengthen.
  template <class Gate>
  static double CpuNs(const Gate& gate) {
    const std::clock_t begin = std::clock();
    gate();
    return 1e9 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  }

  CellStatus status() const { return status_; }
  bool is_ok() const { return status_ == CellStatus::kOk; }
  const std::string& message() const { return message_; }

 private:
  CellStatus status_ = CellStatus::kOk;
  std::string message_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MEASURE_GUARDED_RUN_H_
