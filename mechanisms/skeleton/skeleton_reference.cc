#include <algorithm>

#include "mechanisms/skeleton/skeleton.h"

namespace attnbench::skeleton {
namespace {

// Recomputes every mean from its definition, in the paper's order and letters
// and in a type wider than Real; shares nothing with the decoder it judges.
template <class Real>
class Reference final : public Decoder<Real> {
 public:
  void Append(const MemoryRows<Real>& rows) override {
    for (Index j = 0; j < rows.memory.rows; ++j) {
      h_.push_back(rows.memory.Row(j));
    }
  }
  void Close() override { closed_ = true; }

  StepResult<Real> Step(const DecoderState<Real>& /*s*/,
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

}  // namespace

template <class Real>
std::unique_ptr<Decoder<Real>> MakeReference(
    const Config& /*config*/, const SequenceInputs<Real>& /*inputs*/) {
  return std::make_unique<Reference<Real>>();
}

template std::unique_ptr<Decoder<float>> MakeReference(
    const Config&, const SequenceInputs<float>&);
template std::unique_ptr<Decoder<double>> MakeReference(
    const Config&, const SequenceInputs<double>&);

}  // namespace attnbench::skeleton
