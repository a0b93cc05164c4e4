// The inputs of a point: memory, states, parameters, all drawn from Philox as a
// pure function of seed, purpose, draw, sequence and index, in 24-bit uniforms
// that are exact in f32 and f64. Both precisions, every machine, thread count
// and shard decode the same numbers.
#ifndef ATTNBENCH_HARNESS_INPUTS_WORKLOAD_H_
#define ATTNBENCH_HARNESS_INPUTS_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/sweep/axes.h"
#include "mechanisms/decode.h"

namespace attnbench {

// The workload cannot serve this cell or point; it is skipped with the text.
class WorkloadUnsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The value of the axis `workload`, taken apart.
enum class WorkloadKind {
  kUniform,
  kPlanted,
  kDiagonal,
  kBias,
  kWaitK,
  kCopy,
  kFile,
};
struct WorkloadName {
  WorkloadKind kind = WorkloadKind::kUniform;
  float bias = 0;    // R of bias:R, the same in both precisions
  Index lag = 1;     // K of wait_k:K
  double share = 1;  // S of copy:S
  std::string path;  // CASE of file:CASE
};

// Throws UserError for anything that is not a workload.
WorkloadName ParseWorkload(const std::string& text);

// The draws of a point have no more bytes than this, or are only one.
inline constexpr Index kMostDrawBytes = Index{256} << 20;

// What decides the numbers.
struct WorkloadSpec {
  std::string workload = "uniform";
  Index memory_length = 0;  // T
  Index output_length = 0;  // U
  Index dim = 0;            // d
  Index batch = 1;          // B
  std::uint64_t seed = 1;
};

// All draws of a point in one precision. Not thread-safe.
template <class Real>
class Workload {
 public:
  virtual ~Workload() = default;
  // 16, fewer where the arrays of all draws would exceed 256 MiB in f64 (both
  // precisions have the same draws), at least 1. A file is one draw.
  virtual int num_draws() const = 0;
  // The B sequences of a draw for an energy function; `contexts` of each is a
  // buffer of the workload that every cell overwrites. Draws are made when
  // first asked for and kept, so calling this for every draw leaves nothing to
  // do while timing. Throws WorkloadUnsupported.
  virtual std::vector<Sequence<Real>> Draw(int draw, EnergyKind energy) = 0;
};

// Throws WorkloadUnsupported, UserError (an unreadable file:CASE), or
// std::bad_alloc where the arrays exceed the memory that the machine has left.
//
// Where scores are given (wait_k, or a file with scores) there are no states,
// and a mechanism that cannot use that kind of scores throws Unsupported. What
// a file does not have but a mechanism wants (the memory beside given energies;
// chunk keys and chunk states beside states) is drawn as under `uniform`.
template <class Real>
std::unique_ptr<Workload<Real>> MakeWorkload(const WorkloadSpec& spec);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_INPUTS_WORKLOAD_H_
