#include "mechanisms/soft/reference_softmax.h"
#include "mechanisms/soft/soft.h"

namespace attnbench::soft {
namespace {

template <class Real>
class Reference final : public Decoder<Real> {
 public:
  Reference(const Config& config, const SequenceInputs<Real>& inputs)
      : a_(config, inputs, EnergyRole::kAttention) {}

  void Append(const MatrixView<const Real>& rows) override {
    memory_.Append(rows);
  }
  void Close() override { memory_.closed = true; }

  StepResult<Real> Step(std::span<const Real> s, std::span<Real> c) override {
    if (!memory_.closed) return {.need_memory = true};
    const Index T = memory_.T();
    alpha_ = ReferenceSoftmax(a_, memory_, i_++, 0, T, s, c);
    return {.end = T, .inspected = T, .weights = alpha_};
  }

 private:
  const ReferenceEnergy<Real> a_;
  ReferenceMemory<Real> memory_;
  std::vector<Real> alpha_;
  Index i_ = 0;
};

}  // namespace

template <class Real>
std::unique_ptr<Decoder<Real>> MakeReference(
    const Config& config, const SequenceInputs<Real>& inputs) {
  return std::make_unique<Reference<Real>>(config, inputs);
}

template std::unique_ptr<Decoder<float>> MakeReference(
    const Config&, const SequenceInputs<float>&);
template std::unique_ptr<Decoder<double>> MakeReference(
    const Config&, const SequenceInputs<double>&);

}  // namespace attnbench::soft
