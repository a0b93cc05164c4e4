// A loop over the sequences of a batch on OpenMP threads.
#ifndef ATTNBENCH_MECHANISMS_COMMON_PARALLEL_H_
#define ATTNBENCH_MECHANISMS_COMMON_PARALLEL_H_

#include <omp.h>

#include <algorithm>
#include <exception>
#include <optional>

#include "mechanisms/common/array.h"

namespace attnbench {

// Calls body(n, worker) for n in [0, count), with a worker of each thread's
// own, which make_worker() makes. An exception reaches the caller once no
// thread works any more.
template <class MakeWorker, class Body>
void ParallelForWith(Index count, int threads, const MakeWorker& make_worker,
                     const Body& body) {
  if (threads == 1 || count <= 1) {  // no team: entering one costs time
    if (count == 0) return;
    auto worker = make_worker();
    for (Index n = 0; n < count; ++n) body(n, worker);
    return;
  }
  // More threads than sequences would only be started to wait.
  const int team = static_cast<int>(std::min<Index>(threads, count));
  std::exception_ptr failure;
#pragma omp parallel num_threads(team)
  {
    std::optional<decltype(make_worker())> worker;
#pragma omp for schedule(static)
    for (Index n = 0; n < count; ++n) {
      try {
        if (!worker) worker.emplace(make_worker());
        body(n, *worker);
      } catch (...) {
#pragma omp critical(attnbench_parallel_failure)
        failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

// Calls body(n) for n in [0, count), as above.
template <class Body>
void ParallelFor(Index count, int threads, const Body& body) {
  ParallelForWith(
      count, threads, [] { return 0; },
      [&](Index n, int /*worker*/) { body(n); });
}

// While it lives, loops within the loops that this thread starts have threads,
// too.
class LoopsWithinLoops {
 public:
  LoopsWithinLoops() : levels_(omp_get_max_active_levels()) {
    omp_set_max_active_levels(std::max(levels_, 2));
  }
  ~LoopsWithinLoops() { omp_set_max_active_levels(levels_); }
  LoopsWithinLoops(const LoopsWithinLoops&) = delete;
  LoopsWithinLoops& operator=(const LoopsWithinLoops&) = delete;

 private:
  const int levels_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_COMMON_PARALLEL_H_
