// A CellRun that keeps how its cell failed, so that the others go on.
#ifndef ATTNBENCH_HARNESS_GUARDED_RUN_H_
#define ATTNBENCH_HARNESS_GUARDED_RUN_H_

#include <exception>
#include <new>
#include <string>

#include "harness/error.h"
#include "harness/peer.h"
#include "harness/runner.h"
#include "harness/workload.h"

namespace attnbench {

class GuardedRun : public CellRun {
 protected:
  void Fail(const std::string& status, const std::string& message) {
    status_ = status;
    message_ = message;
  }

  // Runs a step of a cell that has not failed; what it throws is how the cell
  // failed. Throws UserError.
  template <class Step>
  void Guarded(const Step& step) {
    if (status_ != "ok") return;
    try {
      step();
    } catch (const UserError&) {
      throw;
    } catch (const Unsupported& error) {
      Fail("skipped", error.what());
    } catch (const WorkloadUnsupported& error) {
      Fail("skipped", error.what());
    } catch (const PeerTimeout& error) {
      Fail("timeout", error.what());
    } catch (const std::bad_alloc&) {
      Fail("error", "needs more memory than there is");
    } catch (const std::exception& error) {
      Fail("error", error.what());
    } catch (...) {
      Fail("error", "threw something that is no std::exception");
    }
  }

  const std::string& status() const { return status_; }
  const std::string& message() const { return message_; }

 private:
  std::string status_ = "ok";
  std::string message_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_GUARDED_RUN_H_
