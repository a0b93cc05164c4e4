// Decodes a batch: what the harness times, and what a caller with a whole
// memory at hand wants. Sequences are independent, so threads share nothing and
// results are bit-identical for every number of threads.
#ifndef ATTNBENCH_MECHANISMS_DECODE_H_
#define ATTNBENCH_MECHANISMS_DECODE_H_

#include <span>

#include "mechanisms/mechanism.h"

namespace attnbench {

// Makes all contexts of one sequence whose memory is known, with a decoder of
// it that is new: Append, Close, U Steps (one Step for all under the
// teacher-forced schedule). on_step(i, result) is called for every output.
template <class Real, class OnStep>
void DecodeWith(Decoder<Real>& decoder, const Config& config,
                const Sequence<Real>& sequence, const OnStep& on_step) {
  decoder.Append(sequence.memory);
  decoder.Close();
  const Index dim = sequence.contexts.cols;
  const Index num_outputs = sequence.contexts.rows;
  const bool all_at_once = config.schedule == "teacher_forced";
  // Outputs that are made at once are one array, without padding.
  ATTN_CHECK(!all_at_once || sequence.contexts.row_stride == dim);
  ATTN_CHECK(!all_at_once || sequence.states.data == nullptr ||
             sequence.states.row_stride == sequence.states.cols);
  const Index rows_per_step = all_at_once ? num_outputs : 1;
  for (Index i = 0; i < num_outputs; i += rows_per_step) {
    const MatrixView<const Real>& states = sequence.states;
    const auto state =
        states.data == nullptr
            ? std::span<const Real>()
            : std::span<const Real>(states.data + i * states.row_stride,
                                    Size(rows_per_step * states.cols));
    const std::span<Real> context(
        sequence.contexts.data + i * sequence.contexts.row_stride,
        Size(rows_per_step * dim));
    const StepResult<Real> step = decoder.Step(state, context);
    ATTN_CHECK(!step.need_memory);
    if (!all_at_once) {
      on_step(i, step);
      continue;
    }
    for (Index row = 0; row < num_outputs; ++row) {
      StepResult<Real> of_row = step;
      of_row.inspected /= num_outputs;
      const Index length = step.end - step.begin;
      of_row.weights =
          step.weights.empty()
              ? step.weights
              : step.weights.subspan(Size(row * length), Size(length));
      on_step(row, of_row);
    }
  }
}

// The same with a decoder of its own.
template <class Real, class OnStep>
void DecodeSequence(const Mechanism<Real>& mechanism, const Config& config,
                    const Sequence<Real>& sequence, const OnStep& on_step) {
  const auto decoder = mechanism.MakeDecoder(config, sequence.inputs);
  DecodeWith(*decoder, config, sequence, on_step);
}

// Decodes every sequence, on `threads` OpenMP threads. An exception of a
// sequence reaches the caller once no thread works any more.
template <class Real>
void DecodeBatch(const Mechanism<Real>& mechanism, const Config& config,
                 std::span<const Sequence<Real>> batch, int threads);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_DECODE_H_
