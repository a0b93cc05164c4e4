#include <algorithm>
#include <optional>

#include "mechanisms/mocha/mocha.h"
#include "mechanisms/monotonic/reference_scan.h"

namespace attnbench::mocha {
namespace {

template <class Real>
class Reference final : public Decoder<Real> {
 public:
  Reference(const Config& config, const SequenceInputs<Real>& inputs)
      : w_(config.chunk_width),
        scan_(config, inputs),
        ChunkEnergy_(MakeChunkEnergy(config, inputs)) {}

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
    // v = j - w + 1, no further back than the first entry.
    const Index v = w_ > j ? 0 : j - w_ + 1;
    if (w_ == 1) {  // a softmax over one entry; no chunk energies are needed
      weights_ = {1};
      std::copy_n(memory_.h[Size(j)].begin(), c.size(), c.begin());
    } else {
      weights_ =
          ReferenceSoftmax(*ChunkEnergy_, memory_, scan_.i(), v, j + 1, s, c);
    }
    return {.position = j,
            .begin = v,
            .end = j + 1,
            .inspected = scan_.inspected(),
            .weights = weights_};
  }

 private:
  static std::optional<ReferenceEnergy<Real>> MakeChunkEnergy(
      const Config& config, const SequenceInputs<Real>& inputs) {
    if (config.chunk_width == 1) return std::nullopt;
    return ReferenceEnergy<Real>(config, inputs, EnergyRole::kChunk);
  }

  const Index w_;
  ReferenceMemory<Real> memory_;
  ReferenceScan<Real> scan_;
  const std::optional<ReferenceEnergy<Real>> ChunkEnergy_;
  std::vector<Real> weights_;
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
