#include "mechanisms/soft/softmax_function.h"

#include <algorithm>

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
      ForwardRow(scores.choice.Row(i), out.attention.Row(i));
    }
  }

  void Gradient(const ScoreTables<Real>& scores,
                const Cotangent<Real>& cotangent, const Expectation<Real>& out,
                const ScoreGradients<Real>& gradients) override {
    std::ranges::fill(gradients.start, Real{0});
    const Index T = scores.choice.cols;
    if (T == 0) return;
    UnsetBuffer<Real> unwanted(out.attention.data == nullptr ? Size(T) : 0);
    for (Index i = 0; i < scores.choice.rows; ++i) {
      const std::span<Real> alpha = out.attention.data == nullptr
                                        ? std::span<Real>(unwanted)
                                        : out.attention.Row(i);
      ForwardRow(scores.choice.Row(i), alpha);
      const std::span<const Real> d = cotangent.attention.Row(i);
      const std::span<Real> d_energies = gradients.choice.Row(i);
      kernels_.softmax_backward(alpha.data(), d.data(), std::ssize(d),
                                d_energies.data());
    }
  }

 private:
  void ForwardRow(std::span<const Real> energies, std::span<Real> alpha) {
    const Index T = std::ssize(energies);
    const Real* const e = energies.data();
    const Real sum =
        kernels_.exp_sum(e, kernels_.largest(e, T), T, alpha.data());
    kernels_.scale(1 / sum, T, alpha.data());
  }

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
