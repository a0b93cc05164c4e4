#include "mechanisms/soft/softmax_function.h"

#include "mechanisms/kernels/kernels.h"

namespace attnbench::soft {
namespace {

template <class Real>
class SoftmaxFunction final : public AttentionFunction<Real> {
 public:
  bool has_chunk_energies() const override { return false; }

  void Forward(const ScoreTables<Real>& scores,
               const Expectation<Real>& out) override {
    const Index T = scores.choice.cols;
    if (T == 0) return;
    for (Index i = 0; i < scores.choice.rows; ++i) {
      const Real* const e = scores.choice.Row(i).data();
      Real* const alpha = out.attention.Row(i).data();
      const Real sum = kernels_.exp_sum(e, kernels_.largest(e, T), T, alpha);
      kernels_.scale(1 / sum, T, alpha);
    }
  }

  void Gradient(const ScoreTables<Real>& scores,
                const Cotangent<Real>& cotangent, const Expectation<Real>& out,
                const ScoreGradients<Real>& gradients) override {
    Forward(scores, out);
    for (Index i = 0; i < scores.choice.rows; ++i) {
      const std::span<const Real> alpha = out.attention.Row(i);
      const std::span<const Real> d = cotangent.attention.Row(i);
      const std::span<Real> d_energies = gradients.choice.Row(i);
      kernels_.softmax_backward(alpha.data(), d.data(), std::ssize(d),
                                d_energies.data());
    }
  }

 private:
  const Kernels<Real>& kernels_ = BestKernels<Real>();
};

}  // namespace

template <class Real>
std::unique_ptr<AttentionFunction<Real>> MakeSoftmaxFunction() {
  return std::make_unique<SoftmaxFunction<Real>>();
}

template std::unique_ptr<AttentionFunction<float>> MakeSoftmaxFunction();
template std::unique_ptr<AttentionFunction<double>> MakeSoftmaxFunction();

}  // namespace attnbench::soft
