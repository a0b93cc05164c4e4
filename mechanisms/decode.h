// Decodes a batch: what the harness times, and what a caller with a whole
// memory at hand wants. Sequences are independent, so threads share nothing and
// results are bit-identical for every number of threads.
#ifndef ATTNBENCH_MECHANISMS_DECODE_H_
#define ATTNBENCH_MECHANISMS_DECODE_H_

#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "mechanisms/mechanism.h"

namespace attnbench {

// Gives output `row` of a Step that made `num_outputs` of them, with its heads
// linked.
template <class Real>
void OutputOfStep(const StepResult<Real>& step, Index row, Index num_outputs,
                  std::vector<StepResult<Real>>& heads) {
  heads.clear();
  ForEachHead(step, [&](StepResult<Real> head) {
    const Index length = head.end - head.begin;
    head.inspected /= num_outputs;
    if (!head.weights.empty()) {
      head.weights = head.weights.subspan(Size(row * length), Size(length));
    }
    heads.push_back(head);
  });
  for (std::size_t n = 1; n < heads.size(); ++n) {
    heads[n - 1].next_head = &heads[n];
  }
}

// Throws std::logic_error if a decoder that has the whole memory, and knows so,
// asked for more instead of making an output.
template <class Real>
void CheckIsMade(const StepResult<Real>& step) {
  if (!step.need_memory) return;
  throw std::logic_error(
      "the decoder asks for more memory (need_memory) after Close");
}

// Makes an output while the memory still comes: each time the decoder asks,
// next() gives the rows that follow, or none at the end. `is_closed` says
// whether the end was told, and is kept between outputs. Throws
// std::logic_error if the decoder asks for memory after that.
template <class Real, class Next>
StepResult<Real> StepOnDemand(Decoder<Real>& decoder,
                              std::span<const Real> state,
                              std::span<Real> context, bool& is_closed,
                              const Next& next) {
  StepResult<Real> step = decoder.Step(state, context);
  while (step.need_memory) {
    if (is_closed) CheckIsMade(step);
    const std::optional<MatrixView<const Real>> rows = next();
    is_closed = !rows.has_value();
    if (is_closed) {
      decoder.Close();
    } else {
      decoder.Append(*rows);
    }
    step = decoder.Step(state, context);
  }
  return step;
}

// Makes all contexts of one sequence whose memory is known, with a decoder of
// it that is new: Append, Close, U Steps (one Step for all under the
// teacher-forced schedule). on_step(i, result) is called for every output.
// Throws std::logic_error if the decoder asks for memory after Close.
template <class Real, class OnStep>
void DecodeWith(Decoder<Real>& decoder, const Config& config,
                const Sequence<Real>& sequence, const OnStep& on_step) {
  decoder.Append(sequence.memory);
  decoder.Close();
  const Index dim = sequence.contexts.cols;
  const Index num_outputs = sequence.contexts.rows;
  const bool all_at_once = config.schedule == Schedule::kTeacherForced;
  // Outputs that are made at once are one array, without padding.
  ATTN_CHECK(!all_at_once || sequence.contexts.row_stride == dim);
  ATTN_CHECK(!all_at_once || sequence.states.data == nullptr ||
             sequence.states.row_stride == sequence.states.cols);
  const Index rows_per_step = all_at_once ? num_outputs : 1;
  std::vector<StepResult<Real>> heads;
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
    CheckIsMade(step);
    if (!all_at_once) {
      on_step(i, step);
      continue;
    }
    for (Index row = 0; row < num_outputs; ++row) {
      OutputOfStep(step, row, num_outputs, heads);
      on_step(row, heads.front());
    }
  }
}

// Does the same with a decoder of its own.
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
