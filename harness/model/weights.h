// The encoder and decoder of Britz et al. 2017, section 4.1, and their weights
// by name. The layout is that of the program that they name (google/seq2seq):
//
//   encoder   embeddings, and in each direction two LSTM layers of its own; the
//             upper ones' outputs are the memory
//   decoder   two LSTM layers; the lower one reads the embedding of the last
//             symbol and the last context; the upper one's output is the state
//             s_i of the attention
//   output    logits = W_o tanh(W_m [s_i; c_i] + b_m) + b_o; without attention
//             W_o s_i + b_o
//
// Theirs has two layers each; ModelSizes::layers sets another number. Two
// things are not theirs, because memory and states have one size d here, as
// in the paper's text: the memory is the sum of the two directions (theirs:
// both beside each other, 2 d), and the decoder starts from the sum of their
// last states, layer by layer (theirs: a layer of its own).
//
// Weights are views of arrays that a ParameterSource owns, drawn or loaded, so
// trained weights run in the same model; the mechanism takes its own from
// there.
#ifndef ATTNBENCH_HARNESS_MODEL_WEIGHTS_H_
#define ATTNBENCH_HARNESS_MODEL_WEIGHTS_H_

#include <vector>

#include "harness/model/lstm.h"

namespace attnbench {

// Symbols are numbered from 0; two of them are special.
using Symbol = std::int32_t;
inline constexpr Symbol kStartSymbol = 0;  // read before the first output
inline constexpr Symbol kEndSymbol = 1;    // emitted after the last
inline constexpr Symbol kFirstSymbol = 2;  // of those that mean something

struct ModelSizes {
  Index vocabulary = 20;   // V, with the two special symbols
  Index units = 256;       // d, of every layer, embedding and context
  Index layers = 2;        // of each direction, and of the decoder
  double forget_bias = 1;  // r of lstm.h
};

template <class Real>
struct ModelWeights {
  using Layers = std::vector<LstmWeights<Real>>;  // lowest first

  MatrixView<const Real> source_embedding;  // [V, d]
  MatrixView<const Real> target_embedding;  // [V, d]
  Layers forward;                           // of d inputs
  Layers backward;
  Layers decoder;  // of 2 d inputs and d, without attention d
  MatrixView<const Real> mix_weights;     // [d, 2 d]; no data without attention
  MatrixView<const Real> mix_bias;        // [1, d]
  MatrixView<const Real> output_weights;  // [V, d]
  MatrixView<const Real> output_bias;     // [1, V]

  bool has_attention() const { return mix_weights.data != nullptr; }
};

// Asks for "model.source_embedding", "model.forward.0.W" and so on, after the
// names above.
template <class Real>
ModelWeights<Real> WeightsOf(const ParameterSource<Real>& source,
                             const ModelSizes& sizes, bool has_attention);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MODEL_WEIGHTS_H_
