// LSTM layers on Eigen (Hochreiter and Schmidhuber 1997, with the forget gate
// of Gers et al. 2000, without peepholes): of an input x, the last output h'
// and the last cell c'
//
//   i = sigmoid(W_i [x; h'] + b_i)        f = sigmoid(W_f [x; h'] + b_f + r)
//   g = tanh(W_g [x; h'] + b_g)           o = sigmoid(W_o [x; h'] + b_o)
//   c = f c' + i g                        h = o tanh(c)
//
// with the constant forget bias r, 1 in Britz' program (the default of
// TensorFlow's BasicLSTMCell; Jozefowicz et al. 2015, section 2.1), 0 for
// weights whose b_f has it already.
//
// A step is one matrix product for all rows, so that a beam reads the weights
// once. A whole sequence multiplies all its inputs at once, and only W h' step
// by step. Nothing is allocated in a step. reference.h is the oracle.
#ifndef ATTNBENCH_HARNESS_MODEL_LSTM_H_
#define ATTNBENCH_HARNESS_MODEL_LSTM_H_

#include "mechanisms/kernels/kernels.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

// The weights of one layer with n inputs and H units. The rows of i, f, g and o
// follow one another, and so do the columns of x and h'.
template <class Real>
struct LstmWeights {
  MatrixView<const Real> W;  // [4 H, n + H]
  MatrixView<const Real> b;  // [1, 4 H]

  Index units() const { return b.cols / 4; }
  Index inputs() const { return W.cols - units(); }
};

// A layer has scratch arrays of its own, so it is not thread-safe.
template <class Real>
class LstmLayer {
 public:
  // The weights outlive this; the biases are copied, with r.
  LstmLayer(const LstmWeights<Real>& weights, double forget_bias);

  Index units() const { return units_; }
  Index inputs() const { return weights_.inputs(); }

  // Makes one step of several sequences. Each has a row of `joined`
  // [rows, n + H], which is x and then h', of `cells` [rows, H], which goes
  // from c' to c, and of `outputs` [rows, H], which is written.
  void Step(const MatrixView<const Real>& joined, const MatrixView<Real>& cells,
            const MatrixView<Real>& outputs);

  // Runs a whole sequence from h' = c' = 0: reads `inputs` [T, n], and writes
  // `outputs` [T, H] and the last cell, `cell` [H]. Backwards it goes from the
  // last input to the first, of which the output is then the last.
  void Run(const MatrixView<const Real>& inputs, bool backwards,
           const MatrixView<Real>& outputs, std::span<Real> cell);

 private:
  // Makes cell and output from W [x; h'] + b in `gates` [4 H], which it
  // overwrites.
  void Activate(Real* gates, Real* cell, Real* output) const;

  const Kernels<Real>& kernels_;
  const LstmWeights<Real> weights_;
  const Index units_;
  Buffer<Real> bias_;
  Buffer<Real> gates_;  // [rows, 4 H]
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MODEL_LSTM_H_
