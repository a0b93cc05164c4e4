// Memory for results that stays with the process. A fresh table of 32 MiB takes
// 8,192 page faults, which can cost more time than the numbers in it, so the
// memory of a result that is gone is handed out again. `ReleaseMemory` in
// operators.h gives back what no result uses.
#ifndef ATTNBENCH_MECHANISMS_TORCH_POOL_H_
#define ATTNBENCH_MECHANISMS_TORCH_POOL_H_

#include <ATen/core/Tensor.h>

namespace attnbench::torch_operators {

// A contiguous tensor without values: whoever makes it writes all of it. It may
// outlive everything else, and any thread may make or drop one. On the CPU its
// memory is that of the pool, on `meta` it has none.
at::Tensor MakeResult(at::IntArrayRef sizes, const at::TensorOptions& options);
inline at::Tensor MakeResultLike(const at::Tensor& like) {
  return MakeResult(like.sizes(), like.options());
}

// Whether the pool keeps the memory of such a tensor, once it is gone, for the
// next: then it costs little to hold one more. This depends on sizes alone.
bool IsKept(const at::Tensor& like);

}  // namespace attnbench::torch_operators

#endif  // ATTNBENCH_MECHANISMS_TORCH_POOL_H_
