#include "mechanisms/matcha/matcha.h"

#include "mechanisms/monotonic/hard_decoder.h"

namespace attnbench::matcha {
namespace {

template <class Real>
class Matcha final : public Mechanism<Real> {
 public:
  Description Describe() const override {
    return {
        .name = "matcha",
        .title = "monotonic adaptive chunkwise attention",
        .paper = "Chiu and Raffel 2018, appendix C, eq 27",
        .axes = {"energy", "end"},
        .modes = {"decode"},
        .schedules = {"online"},
        .variants = {{"exact", "the scan, energies when they are needed"},
                     {"reference", "the paper's algorithm in scalar loops"}},
        .options = HardDecoderOptions(),
        .online = true};
  }

  std::unique_ptr<Decoder<Real>> MakeDecoder(
      const Config& config, const SequenceInputs<Real>& inputs) const override {
    if (config.variant == "reference") return MakeReference(config, inputs);
    return MakeHardDecoder(config, inputs, Rule(config));
  }

  Operations Count(const Config& config, Index memory_length,
                   std::span<const StepTrace> steps) const override {
    return CountHardDecoder<Real>(config, Rule(config), memory_length, steps);
  }

 private:
  static ChunkRule Rule(const Config& /*config*/) {
    return ChunkRule::SinceLast();
  }
};

}  // namespace

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism() {
  return std::make_unique<Matcha<Real>>();
}

template std::unique_ptr<const Mechanism<float>> MakeMechanism();
template std::unique_ptr<const Mechanism<double>> MakeMechanism();

}  // namespace attnbench::matcha
