#include <algorithm>
#include <optional>

#include "mechanisms/mocha/mocha.h"
#include "mechanisms/monotonic/reference_scan.h"

namespace attnbench::mocha {
namespace {

template <class Real>
class Reference final : public HardReference<Real> {
 public:
  Reference(const Config& config, const SequenceInputs<Real>& inputs)
      : HardReference<Real>(config, inputs),
        w_(config.Option<Index>("chunk_width")) {
    if (w_ > 1) ChunkEnergy_.emplace(config, inputs, EnergyRole::kChunk);
  }

 private:
  Index Attend(std::span<const Real> s, std::span<Real> c) override {
    const Index j = this->scan_.t();
    // v = j - w + 1, no further back than the first entry.
    const Index v = w_ > j ? 0 : j - w_ + 1;
    if (w_ == 1) {  // a softmax over one entry; no chunk energies are needed
      std::copy_n(this->memory_.h[Size(j)].begin(), c.size(), c.begin());
      this->weights_ = {1};
    } else {
      this->weights_ = ReferenceSoftmax(*ChunkEnergy_, this->memory_,
                                        this->scan_.i(), v, j + 1, s, c);
    }
    return v;
  }

  const Index w_;
  std::optional<ReferenceEnergy<Real>> ChunkEnergy_;
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

}  // namespace attnbench::mocha
