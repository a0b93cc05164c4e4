#include "mechanisms/monotonic/monotonic.h"

#include "mechanisms/monotonic/hard_decoder.h"
#include "mechanisms/published/published.h"

namespace attnbench::monotonic {
namespace {

template <class Real>
class Monotonic final : public Mechanism<Real> {
 public:
  Description Describe() const override {
    return {.name = "monotonic",
            .title = "hard monotonic attention",
            .paper = "Raffel et al. 2017, 2.2, algorithm 1",
            .axes = {"energy", "end"},
            .modes = {"decode"},
            .schedules = {"online"},
            .variants = {{"exact", "the scan, energies when they are needed"},
                         {"reference", "the paper's algorithm in scalar loops"},
                         published::VariantO3(),
                         published::VariantO0()},
            .options = HardDecoderOptions(),
            .online = true};
  }

  std::unique_ptr<Decoder<Real>> MakeDecoder(
      const Config& config, const SequenceInputs<Real>& inputs) const override {
    if (config.variant == "reference") return MakeReference(config, inputs);
    if (config.variant != "exact") {
      return published::MakeMonotonicDecoder(config, inputs);
    }
    return MakeHardDecoder(config, inputs, Rule(config));
  }

  Operations Count(const Config& config, Index memory_length,
                   std::span<const StepTrace> steps) const override {
    return CountHardDecoder<Real>(config, Rule(config), memory_length, steps);
  }

 private:
  static ChunkRule Rule(const Config& /*config*/) {
    return ChunkRule::ChosenOnly();
  }
};

}  // namespace

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism() {
  return std::make_unique<Monotonic<Real>>();
}

template std::unique_ptr<const Mechanism<float>> MakeMechanism();
template std::unique_ptr<const Mechanism<double>> MakeMechanism();

}  // namespace attnbench::monotonic
