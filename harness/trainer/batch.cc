#include "harness/trainer/batch.h"

#include <torch/types.h>

#include <algorithm>

namespace attnbench {

Batch MakeBatch(const Task& task, ExampleSet set, std::uint64_t seed,
                std::uint32_t first, Index count) {
  Batch batch;
  Index T = 0, U = 0;
  for (Index b = 0; b < count; ++b) {
    const auto index = first + static_cast<std::uint32_t>(b);
    batch.examples.push_back(MakeExample(task, set, seed, index));
    T = std::max(T, batch.examples.back().source_length());
    U = std::max(U, std::ssize(batch.examples.back().target));
  }
  const auto frame_shape = {T, count, kFrameSize};
  batch.source = task.has_frames()
                     ? at::zeros(frame_shape, at::kFloat)
                     : at::full({T, count}, kEndSymbol, at::kLong);
  batch.lengths = at::empty({count}, at::kLong);
  batch.previous = at::full({U, count}, kStartSymbol, at::kLong);
  batch.targets = at::full({U, count}, kNoTarget, at::kLong);
  auto* const lengths = batch.lengths.data_ptr<std::int64_t>();
  auto* const previous = batch.previous.data_ptr<std::int64_t>();
  auto* const targets = batch.targets.data_ptr<std::int64_t>();
  for (Index b = 0; b < count; ++b) {
    const Example& example = batch.examples[Size(b)];
    const Index length = example.source_length();
    lengths[b] = length;
    for (Index t = 0; t < length && task.has_frames(); ++t) {
      std::copy_n(
          &example.frames[Size(t * kFrameSize)], kFrameSize,
          batch.source.data_ptr<float>() + (t * count + b) * kFrameSize);
    }
    for (Index t = 0; t < std::ssize(example.tokens); ++t) {
      batch.source.data_ptr<std::int64_t>()[t * count + b] =
          example.tokens[Size(t)];
    }
    for (Index i = 0; i < std::ssize(example.target); ++i) {
      targets[i * count + b] = example.target[Size(i)];
      if (i > 0) previous[i * count + b] = example.target[Size(i - 1)];
    }
  }
  return batch;
}

}  // namespace attnbench
