// A loop over the sequences of a batch on OpenMP threads.
#ifndef ATTNBENCH_MECHANISMS_COMMON_PARALLEL_H_
#define ATTNBENCH_MECHANISMS_COMMON_PARALLEL_H_

#include <algorithm>
#include <exception>

#include "mechanisms/common/array.h"

namespace attnbench {

// Calls body(n) for n in [0, count). An exception reaches the caller once no
// thread works any more.
template <class Body>
void ParallelFor(Index count, int threads, const Body& body) {
  if (threads == 1 || count == 1) {  // no team: entering one costs time
    for (Index n = 0; n < count; ++n) body(n);
    return;
  }
  // More threads than sequences would only be started to wait.
  const int team = static_cast<int>(std::min<Index>(threads, count));
  std::exception_ptr failure;
#pragma omp parallel for num_threads(team) schedule(static)
  for (Index n = 0; n < count; ++n) {
    try {
      body(n);
    } catch (...) {
#pragma omp critical(attnbench_parallel_failure)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_COMMON_PARALLEL_H_
