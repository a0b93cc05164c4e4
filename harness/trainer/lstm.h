// An LSTM layer over a whole batch of sequences as one differentiable function.
// torch's own runs each step through a dozen operators; here all inputs take
// one matrix product, a step takes one for its outputs and plain loops for its
// gates, and the backward pass is written out in the same way.
//
// Formulas and the layout of weights are those of model/lstm.h, with r = 0:
// weights that were trained here run there.
#ifndef ATTNBENCH_HARNESS_TRAINER_LSTM_H_
#define ATTNBENCH_HARNESS_TRAINER_LSTM_H_

#include <ATen/core/Tensor.h>

namespace attnbench {

struct LstmStates {
  at::Tensor outputs;  // [T, B, H], h of every step
  at::Tensor cells;    // [T, B, H], c of every step
};

// Runs `inputs` [T, B, n], T > 0, from the states `output` and `cell` [B, H],
// with W [4 H, n + H] and b [4 H], all f32 or all f64. A sequence that is
// shorter than T is followed by inputs of any finite value: its own steps, and
// gradients of them, do not depend on those.
//
// Second derivatives are refused: asking for one throws c10::Error.
LstmStates RunLstm(const at::Tensor& inputs, const at::Tensor& W,
                   const at::Tensor& b, const at::Tensor& output,
                   const at::Tensor& cell);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINER_LSTM_H_
