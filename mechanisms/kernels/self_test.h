// Whether the kernels of the chosen SIMD level are right on this CPU. Tests
// hold every level of the machine that ran them; a user's CPU may have another
// one.
#ifndef ATTNBENCH_MECHANISMS_KERNELS_SELF_TEST_H_
#define ATTNBENCH_MECHANISMS_KERNELS_SELF_TEST_H_

#include <string>

#include "mechanisms/kernels/kernels.h"

namespace attnbench {

// Takes every kernel over a few numbers, at lengths around the lane count, and
// compares what it gives with ScalarKernels. Throws std::runtime_error, which
// names `level`, the precision and the first kernel that is wrong.
template <class Real>
void CheckKernels(const Kernels<Real>& kernels, const std::string& level);

// Does so with BestKernels of both precisions, once in a process, in about a
// millisecond: call it before anything is computed with them, and outside of
// loops over threads, which an error cannot leave. Any thread may call it.
void CheckBestKernels();

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_KERNELS_SELF_TEST_H_
