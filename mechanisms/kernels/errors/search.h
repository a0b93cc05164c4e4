// Searches for the largest errors of the kernels, beside the bounds that
// kernels.h promises: each result of each kernel against the same loop in long
// double. Inputs come in families: ordinary numbers, terms that cancel, the
// ends of the ranges, and adversarial ones, found by a search that changes a
// few numbers at a time and keeps what errs more. They follow from the seed
// alone.
#ifndef ATTNBENCH_MECHANISMS_KERNELS_ERRORS_SEARCH_H_
#define ATTNBENCH_MECHANISMS_KERNELS_ERRORS_SEARCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "mechanisms/kernels/errors/subjects.h"

namespace attnbench::kernel_errors {

struct SearchOptions {
  std::uint64_t seed = 1;
  // How long the search is: 1 takes about a minute and a half of one core.
  double effort = 1;
};

// What one kernel makes of one family of inputs, at one SIMD level.
struct KernelError {
  std::string kernel, precision, level, family;
  Result result;
  WorstError worst;

  bool passed() const { return worst.ratio <= 1; }
};

// Searches for the errors of all kernels of one table, which are told as of
// `level`, in the order of AllSubjects(), by as many threads as OpenMP has. The
// number of threads changes nothing.
template <class Real>
std::vector<KernelError> SearchKernelErrors(const Kernels<Real>& kernels,
                                            const std::string& level,
                                            const SearchOptions& options);

// A line for each result of a kernel in a precision: the error that is nearest
// to its bound, over all levels and families. The last line says how many there
// were of all, and how many exceed their bounds.
std::string TableOf(const std::vector<KernelError>& errors);

}  // namespace attnbench::kernel_errors

#endif  // ATTNBENCH_MECHANISMS_KERNELS_ERRORS_SEARCH_H_
