#include <cmath>

#include "mechanisms/soft/softmax_function.h"

namespace attnbench::soft {
namespace {

template <class Number>
class SoftmaxReference final : public AttentionFunction<Number> {
 public:
  bool has_chunk_energies() const override { return false; }

  void Forward(const ScoreTables<Number>& scores,
               const Expectation<Number>& out) override {
    const Index T = scores.choice.cols;
    for (Index i = 0; i < scores.choice.rows; ++i) {
      Number largest = T == 0 ? 0 : scores.choice(i, 0);
      for (Index j = 0; j < T; ++j) {
        if (scores.choice(i, j) > largest) largest = scores.choice(i, j);
      }
      Number sum = 0;
      for (Index j = 0; j < T; ++j) {
        sum += std::exp(scores.choice(i, j) - largest);
      }
      for (Index j = 0; j < T; ++j) {
        out.attention(i, j) = std::exp(scores.choice(i, j) - largest) / sum;
      }
    }
  }

  // The Jacobian d alpha(j) / d e(k) = alpha(j) (1{j = k} - alpha(k)), entry by
  // entry.
  void Gradient(const ScoreTables<Number>& scores,
                const Cotangent<Number>& cotangent,
                const Expectation<Number>& out,
                const ScoreGradients<Number>& gradients) override {
    Forward(scores, out);
    const Index T = scores.choice.cols;
    for (Index i = 0; i < scores.choice.rows; ++i) {
      for (Index k = 0; k < T; ++k) {
        Number sum = 0;
        for (Index j = 0; j < T; ++j) {
          const Number identity = j == k ? 1 : 0;
          sum += cotangent.attention(i, j) * out.attention(i, j) *
                 (identity - out.attention(i, k));
        }
        gradients.choice(i, k) = sum;
      }
    }
  }
};

}  // namespace

template <class Number>
std::unique_ptr<AttentionFunction<Number>> MakeSoftmaxReference() {
  return std::make_unique<SoftmaxReference<Number>>();
}

template std::unique_ptr<AttentionFunction<double>> MakeSoftmaxReference();
template std::unique_ptr<AttentionFunction<long double>> MakeSoftmaxReference();

}  // namespace attnbench::soft
