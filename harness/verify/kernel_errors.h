// Measures how far the kernels err (`attnbench verify --kernels`): each result
// of each kernel, in both precisions and at every SIMD level of this CPU,
// against the same loop in long double, beside the bound that kernels.h
// promises. Inputs come in families (kKernelFamilies): the last is found by a
// search that changes a few numbers at a time and keeps what errs more. They
// follow from the seed alone.
#ifndef ATTNBENCH_HARNESS_VERIFY_KERNEL_ERRORS_H_
#define ATTNBENCH_HARNESS_VERIFY_KERNEL_ERRORS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/verify/kernel_result.h"
#include "mechanisms/kernels/kernels.h"

namespace attnbench {

struct KernelErrorOptions {
  std::uint64_t seed = 1;
  int threads = 1;
  // How long the search is: 1 takes about four minutes.
  double effort = 1;
  // Of SimdLevels().
  std::vector<std::string> levels = SimdLevels();
};

// `on_finished` is called after each kernel of each precision and level, by one
// thread at a time, with the number of finished ones and of all. Rows do not
// depend on the number of threads.
std::vector<KernelError> MeasureKernelErrors(
    const KernelErrorOptions& options,
    const std::function<void(std::size_t finished, std::size_t all)>&
        on_finished);

// Does so for all kernels of one table, as `level`.
template <class Real>
std::vector<KernelError> MeasureTable(const Kernels<Real>& kernels,
                                      const std::string& level,
                                      const KernelErrorOptions& options);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_VERIFY_KERNEL_ERRORS_H_
