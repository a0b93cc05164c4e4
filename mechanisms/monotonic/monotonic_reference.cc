#include <algorithm>

#include "mechanisms/monotonic/monotonic.h"
#include "mechanisms/monotonic/reference_scan.h"

namespace attnbench::monotonic {
namespace {

template <class Real>
class Reference final : public Decoder<Real> {
 public:
  Reference(const Config& config, const SequenceInputs<Real>& inputs)
      : scan_(config, inputs) {}

  void Append(const MemoryRows<Real>& rows) override { memory_.Append(rows); }
  void Close() override { memory_.closed = true; }

  StepResult<Real> Step(const DecoderState<Real>& s,
                        std::span<Real> c) override {
    using Outcome = typename ReferenceScan<Real>::Outcome;
    const Outcome outcome = scan_.Next(memory_, s);
    if (outcome == Outcome::kNeedMemory) return {.need_memory = true};
    if (outcome == Outcome::kNone) {
      std::fill(c.begin(), c.end(), Real{0});
      return {.inspected = scan_.inspected()};
    }
    const Index j = scan_.t();
    const Index v = j;
    std::copy_n(memory_.h[Size(j)].begin(), c.size(),
                c.begin());  // c(i) = h(j)
    return {.position = j,
            .begin = v,
            .end = j + 1,
            .inspected = scan_.inspected(),
            .weights = weights_};
  }

 private:
  ReferenceMemory<Real> memory_;
  ReferenceScan<Real> scan_;
  const std::vector<Real> weights_ = {1};
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
