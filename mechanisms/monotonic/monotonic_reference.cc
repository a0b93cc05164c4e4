#include <algorithm>

#include "mechanisms/monotonic/monotonic.h"
#include "mechanisms/monotonic/reference_scan.h"

namespace attnbench::monotonic {
namespace {

template <class Real>
class Reference final : public HardReference<Real> {
 public:
  using HardReference<Real>::HardReference;

 private:
  Index Attend(std::span<const Real> /*s*/, std::span<Real> c) override {
    const Index j = this->scan_.t();
    const std::span<const Real> h = this->memory_.h[Size(j)];
    std::copy_n(h.begin(), c.size(), c.begin());  // c(i) = h(j)
    this->weights_ = {1};
    return j;
  }
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

}  // namespace attnbench::monotonic
