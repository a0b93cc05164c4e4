// Matrix products run on the thread that asks for them.
#ifndef ATTNBENCH_MECHANISMS_COMMON_BLAS_THREADS_H_
#define ATTNBENCH_MECHANISMS_COMMON_BLAS_THREADS_H_

// OpenBLAS has this, but not every cblas.h declares it.
extern "C" void openblas_set_num_threads(int num_threads);

namespace attnbench {

// Every program calls this once, at its start. Threads are over sequences: a
// matrix product that starts its own would crowd them and change what `threads`
// means.
inline void UseOneBlasThread() { openblas_set_num_threads(1); }

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_COMMON_BLAS_THREADS_H_
