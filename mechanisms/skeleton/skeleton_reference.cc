#include <algorithm>

#include "mechanisms/skeleton/skeleton.h"

namespace attnbench::skeleton {
namespace {

// Recomputes every mean from its definition, in the paper's order and letters
// and in a type wider than Real; shares nothing with the decoder it judges.
template <class Real>
class Reference final : public Decoder<Real> {
 public:
  void Append(const MatrixView<const Real>& rows) override {
    for (Index j = 0; j < rows.rows; ++j) {
      h_.push_back(rows.Row(j));
    }
  }
  void Close() override { closed_ = true; }

  StepResult<Real> Step(std::span<const Real> /*s*/,
                        std::span<Real> c) override {
    const auto T = static_cast<Index>(h_.size());
    if (T <= i_ && !closed_) return {.need_memory = true};
    ++i_;
    const Index n = std::min(i_, T);
    for (std::size_t k = 0; k < c.size(); ++k) {
      long double sum = 0;
      for (Index j = 0; j < n; ++j) sum += h_[Size(j)][k];
      c[k] = n == 0 ? Real{0} : static_cast<Real>(sum / static_cast<double>(n));
    }
    weights_.assign(Size(n),
                    Real{1} / static_cast<Real>(std::max<Index>(n, 1)));
    return {.end = n, .weights = weights_};
  }

 private:
  std::vector<std::span<const Real>> h_;
  std::vector<Real> weights_;
  Index i_ = 0;
  bool closed_ = false;
};

// The weight of entry j (from 0) in output i.
long double Weight(Index i, Index j, Index T) {
  const Index n = std::min(i + 1, T);
  return j < n ? 1 / static_cast<long double>(n) : 0;
}

}  // namespace

template <class Real>
std::unique_ptr<Decoder<Real>> MakeReference(
    const Config& /*config*/, const SequenceInputs<Real>& /*inputs*/) {
  return std::make_unique<Reference<Real>>();
}

// Makes every context as the sum over all entries that its weights say.
template <class Real>
void ReferenceExpect(const Sequence<Real>& sequence,
                     const Expectation<Real>& out) {
  const MatrixView<const Real>& h = sequence.memory;
  for (Index i = 0; i < out.attention.rows; ++i) {
    for (Index j = 0; j < out.attention.cols; ++j) {
      out.attention(i, j) = static_cast<Real>(Weight(i, j, h.rows));
    }
  }
  for (Index i = 0; i < sequence.contexts.rows; ++i) {
    for (Index k = 0; k < sequence.contexts.cols; ++k) {
      long double sum = 0;
      for (Index j = 0; j < h.rows; ++j) sum += Weight(i, j, h.rows) * h(j, k);
      sequence.contexts(i, k) = static_cast<Real>(sum);
    }
  }
}

// dL/dh(j) = sum over i of weight(i, j) dL/dc(i).
template <class Real>
void ReferenceGradient(const Sequence<Real>& sequence,
                       const Cotangent<Real>& cotangent,
                       const Gradients<Real>& gradients) {
  const Index T = sequence.memory.rows;
  ZeroInputGradients(gradients);
  for (Index j = 0; j < gradients.memory.rows; ++j) {
    for (Index k = 0; k < gradients.memory.cols; ++k) {
      long double sum = 0;
      for (Index i = 0; i < cotangent.contexts.rows; ++i) {
        sum += Weight(i, j, T) * cotangent.contexts(i, k);
      }
      gradients.memory(j, k) = static_cast<Real>(sum);
    }
  }
}

template std::unique_ptr<Decoder<float>> MakeReference(
    const Config&, const SequenceInputs<float>&);
template std::unique_ptr<Decoder<double>> MakeReference(
    const Config&, const SequenceInputs<double>&);
template void ReferenceExpect(const Sequence<float>&,
                              const Expectation<float>&);
template void ReferenceExpect(const Sequence<double>&,
                              const Expectation<double>&);
template void ReferenceGradient(const Sequence<float>&, const Cotangent<float>&,
                                const Gradients<float>&);
template void ReferenceGradient(const Sequence<double>&,
                                const Cotangent<double>&,
                                const Gradients<double>&);

}  // namespace attnbench::skeleton
