// This file is compiled twice (CMakeLists.txt), with `Eigen` defined as another
// namespace each time: templates of one name compiled with different flags
// would be merged by the linker, and either build might then run the other's
// code. No container of the standard library is used, for the same reason.
#include "mechanisms/published/protocol.h"

#include <Eigen/Core>
#include <cmath>

#define ATTNBENCH_JOIN(a, b) a##b
#define ATTNBENCH_AT_LEVEL(name, level) ATTNBENCH_JOIN(name, level)

namespace attnbench::published {
namespace {

using Memory = Eigen::Map<const Eigen::MatrixXd, 0, Eigen::OuterStride<>>;
using State = Eigen::Map<const Eigen::VectorXd>;
using Context = Eigen::Map<Eigen::VectorXd>;

Memory AsMatrix(const Entries& memory) {
  return {memory.data, memory.dim, memory.length,
          Eigen::OuterStride<>(memory.stride)};
}

}  // namespace

void ATTNBENCH_AT_LEVEL(SoftStep,
                        ATTNBENCH_PUBLISHED_LEVEL)(const Entries& memory,
                                                   const double* state,
                                                   double* context) {
  const Memory h = AsMatrix(memory);
  Eigen::VectorXd alpha = h.transpose() * State(state, memory.dim);
  alpha = (alpha.array() - alpha.maxCoeff()).exp();
  alpha /= alpha.sum();
  Context(context, memory.dim) = h * alpha;
}

std::int64_t ATTNBENCH_AT_LEVEL(MonotonicStep, ATTNBENCH_PUBLISHED_LEVEL)(
    const Entries& memory, const double* state, std::int64_t* position,
    double* context) {
  const Memory h = AsMatrix(memory);
  const State s(state, memory.dim);
  std::int64_t inspected = 0;
  std::int64_t j = *position;
  while (j < memory.length - 1) {
    const double e = h.col(j).dot(s);
    ++inspected;
    if (1.0 / (1.0 + std::exp(-e)) >= 0.5) break;
    ++j;
  }
  Context(context, memory.dim) = h.col(j);
  *position = j;
  return inspected;
}

}  // namespace attnbench::published
