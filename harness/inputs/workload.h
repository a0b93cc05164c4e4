// Draws the inputs of a point: memory, states and parameters. Each number is a
// pure function of seed, purpose, draw, sequence and index (Philox), a 24-bit
// uniform that is exact in f32 and f64. So both precisions, every machine,
// thread count and shard decode the same numbers.
#ifndef ATTNBENCH_HARNESS_INPUTS_WORKLOAD_H_
#define ATTNBENCH_HARNESS_INPUTS_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/base/arrays.h"
#include "harness/inputs/declared_inputs.h"
#include "harness/sweep/workload_name.h"
#include "mechanisms/decode.h"

namespace attnbench {

// The workload cannot serve this cell or point, which is skipped with this
// text.
class WorkloadUnsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The draws of a point have at most this many bytes, unless there is only one.
inline constexpr Index kMostDrawBytes = Index{256} << 20;
inline constexpr Index kMostDraws = 16;

// Everything that the numbers depend on, and how they lie in memory.
struct WorkloadSpec {
  std::string workload = "uniform";
  Index memory_length = 0;  // T
  Index output_length = 0;  // U
  Index dim = 0;            // d
  Index batch = 1;          // B
  std::uint64_t seed = 1;
  Index most_draws = kMostDraws;
  ArrayGaps* gaps = nullptr;  // outlives the workload
};

// All draws of a point in one precision. This class is not thread-safe.
template <class Real>
class Workload {
 public:
  virtual ~Workload() = default;
  // The number of draws: most_draws, or fewer if the arrays of all draws would
  // exceed 256 MiB in f64 (both precisions have the same draws), but at
  // least 1. A file is one draw, of all its sequences.
  virtual int num_draws() const = 0;
  // The B sequences of a draw for an energy function; `contexts` of each is a
  // buffer of the workload that every cell overwrites. Draws are made when
  // first asked for and kept, so calling this for every draw leaves nothing to
  // do while timing. Further inputs are those of all mechanisms. Throws
  // WorkloadUnsupported.
  virtual std::vector<Sequence<Real>> Draw(int draw, EnergyKind energy) = 0;
  // The same sequences as the mechanism reads them: without further inputs that
  // it does not declare.
  std::vector<Sequence<Real>> DrawFor(const Description& mechanism, int draw,
                                      EnergyKind energy) {
    std::vector<Sequence<Real>> batch = Draw(draw, energy);
    for (Sequence<Real>& sequence : batch) {
      NamedViews<const Real>& further = sequence.inputs.further;
      further = FurtherOf(mechanism, further);
    }
    return batch;
  }
};

// The B sequences have T entries and U outputs, those of captured:FILE at most
// so many.
//
// Throws WorkloadUnsupported, UserError (an unreadable file), or
// std::bad_alloc if the arrays exceed the memory that the machine has left.
//
// If scores are given (wait_k, or a file with scores) there are no states, and
// a mechanism that cannot use that kind of scores throws Unsupported. Inputs
// that a mechanism needs and a file lacks (the memory beside given energies;
// chunk keys and chunk states beside states) are drawn as under `uniform`.
template <class Real>
std::unique_ptr<Workload<Real>> MakeWorkload(const WorkloadSpec& spec);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_INPUTS_WORKLOAD_H_
