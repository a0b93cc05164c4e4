// Runs the encoder and the decoder of weights.h on one sequence at a time; the
// hypotheses of a beam are the rows of one step. The mechanism stands between
// the two halves of a step: Advance gives the states, the caller makes the
// contexts, Logits takes them. Nothing is allocated once the arrays have grown
// to their lengths.
#ifndef ATTNBENCH_HARNESS_MODEL_SEQ2SEQ_H_
#define ATTNBENCH_HARNESS_MODEL_SEQ2SEQ_H_

#include <vector>

#include "harness/model/weights.h"

namespace attnbench {

// What the encoder leaves. The views are of its own arrays, valid until it
// encodes again.
template <class Real>
struct Encoded {
  MatrixView<const Real> memory;  // [T, d], h_1..h_T
  MatrixView<const Real> cells;   // [layers, d], the last of each, summed
  MatrixView<const Real> outputs;
};

template <class Real>
class Encoder {
 public:
  // What `weights` are views of outlives this.
  Encoder(const ModelWeights<Real>& weights, const ModelSizes& sizes);
  // Takes any number of symbols; with none the memory is empty and the states
  // are zero.
  Encoded<Real> Encode(std::span<const Symbol> source);

 private:
  // Adds one direction to memory, cells and outputs.
  void AddDirection(std::vector<LstmLayer<Real>>& layers, bool backwards,
                    Index length);

  const Kernels<Real>& kernels_;
  const Index dim_;
  const MatrixView<const Real> embedding_;
  std::vector<LstmLayer<Real>> forward_, backward_;
  Buffer<Real> embedded_;       // [T, d]
  Buffer<Real> lower_, upper_;  // outputs of two neighbouring layers, [T, d]
  Buffer<Real> memory_;
  Buffer<Real> cell_;             // [d]
  Buffer<Real> cells_, outputs_;  // [layers, d]
};

template <class Real>
class StepModel {
 public:
  StepModel(const ModelWeights<Real>& weights, const ModelSizes& sizes);

  // Begins with one hypothesis, before its first symbol.
  void Start(const Encoded<Real>& encoded);
  // Row r goes on from row parents[r] of the last step, whose context
  // `contexts` still has, by reading symbols[r]. Gives the states s_i [rows,
  // d].
  MatrixView<const Real> Advance(std::span<const Symbol> symbols,
                                 std::span<const Index> parents);
  // The contexts [rows, d] of that step, which the caller writes; no data
  // without attention.
  MatrixView<Real> contexts();
  // The logits [rows, V], which the caller may read or change until the next
  // call.
  MatrixView<Real> Logits();

 private:
  struct Layer {
    LstmLayer<Real> lstm;
    Buffer<Real> joined = {};                                // [rows, n + d]
    Buffer<Real> outputs = {}, cells = {}, last_cells = {};  // [rows, d]
  };

  MatrixView<Real> Rows(Buffer<Real>& array, Index cols) {
    if (array.size() < Size(rows_ * cols)) array.resize(Size(rows_ * cols));
    return {array.data(), rows_, cols};
  }

  const Kernels<Real>& kernels_;
  const Index dim_;
  const ModelWeights<Real> weights_;
  std::vector<Layer> layers_;
  Index rows_ = 0;
  Buffer<Real> contexts_;
  Buffer<Real> mix_joined_, mixed_, logits_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MODEL_SEQ2SEQ_H_
