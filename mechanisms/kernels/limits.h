// Loops that load the machine as far as it goes and do nothing else: sums,
// copies and chains of fused multiply-adds. What they reach is the limit that
// every other kernel is held against (harness/machine/roofline.h), so they are
// written and dispatched as the others are (kernels.h): the same instructions,
// at the same SIMD level. Stores are ordinary ones, which first read the cache
// line that they write, because those are what the kernels use.
#ifndef ATTNBENCH_MECHANISMS_KERNELS_LIMITS_H_
#define ATTNBENCH_MECHANISMS_KERNELS_LIMITS_H_

#include <cstdint>
#include <string>

namespace attnbench {

// Counts are in elements; arrays may be unaligned, nothing outside them is
// touched.
template <class Real>
struct LimitKernels {
  // The sum of x, in an order that depends on the level.
  Real (*read)(const Real* x, std::int64_t count);

  // to = from; they do not overlap.
  void (*copy)(const Real* from, std::int64_t count, Real* to);

  // x = 0.5 x + 1 for each of `chain_numbers` independent numbers that start
  // at 0, 1, 2 ..., `steps` times; returns the sum of the last ones.
  Real (*multiply_add)(std::int64_t steps);

  // The numbers of multiply_add: a step is 2 chain_numbers flops.
  std::int64_t chain_numbers;
};

// The kernels of the level that the program uses, asked for anew on every call.
template <class Real>
const LimitKernels<Real>& ChosenLimitKernels();

// Gives those of a level of SimdLevels() (another name is a bug): for tests.
template <class Real>
const LimitKernels<Real>& LimitKernelsAt(const std::string& level);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_KERNELS_LIMITS_H_
