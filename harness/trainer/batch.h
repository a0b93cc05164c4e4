// Examples of a task side by side, padded, as tensors. Steps come first, as an
// LSTM goes through them: [T, B] and [U, B].
#ifndef ATTNBENCH_HARNESS_TRAINER_BATCH_H_
#define ATTNBENCH_HARNESS_TRAINER_BATCH_H_

#include <ATen/core/Tensor.h>

#include "harness/training/tasks.h"

namespace attnbench {

inline constexpr std::int64_t kNoTarget = -100;  // what a loss leaves out

struct Batch {
  std::vector<Example> examples;
  at::Tensor source;    // [T, B] symbols, or [T, B, kFrameSize] frames
  at::Tensor lengths;   // [B], of the sources
  at::Tensor previous;  // [U, B], the symbol before each output
  at::Tensor targets;   // [U, B], kNoTarget behind the end symbol

  std::int64_t size() const { return lengths.size(0); }
};

// The examples first .. first + count - 1 of a set.
Batch MakeBatch(const Task& task, ExampleSet set, std::uint64_t seed,
                std::uint32_t first, Index count);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINER_BATCH_H_
