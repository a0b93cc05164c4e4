#include "mechanisms/matcha/matcha.h"
#include "mechanisms/monotonic/reference_scan.h"

namespace attnbench::matcha {
namespace {

template <class Real>
class Reference final : public HardReference<Real> {
 public:
  Reference(const Config& config, const SequenceInputs<Real>& inputs)
      : HardReference<Real>(config, inputs),
        ChunkEnergy_(config, inputs, EnergyRole::kChunk) {}

 private:
  Index Attend(std::span<const Real> s, std::span<Real> c) override {
    const Index v = this->scan_.last_t();  // v = t(i-1)
    this->weights_ =
        ReferenceSoftmax(ChunkEnergy_, this->memory_, this->scan_.i(), v,
                         this->scan_.t() + 1, s, c);
    return v;
  }

  const ReferenceEnergy<Real> ChunkEnergy_;
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

}  // namespace attnbench::matcha
