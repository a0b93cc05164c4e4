#include "mechanisms/monotonic/monotonic.h"

#include "mechanisms/monotonic/hard_mechanism.h"
#include "mechanisms/monotonic/parallel_selection.h"
#include "mechanisms/published/published.h"

namespace attnbench::monotonic {
namespace {

template <class Real>
class Monotonic final : public HardMechanism<Real> {
 public:
  Monotonic()
      : HardMechanism<Real>(
            Description{.name = "monotonic",
                        .title = "hard monotonic attention",
                        .paper = "Raffel et al. 2017, 2.2, algorithm 1",
                        .axes = {"energy", "end"}},
            [](const Config& /*config*/) { return ChunkRule::ChosenOnly(); },
            &MakeReference<Real>,
            ChunkTraining<Real>{
                .variants = {{"parallel",
                              "closed form of alpha (MAD C.1) with clipping, "
                              "see option preset"}}}) {}

  Description Describe() const override {
    Description about = HardMechanism<Real>::Describe();
    about.variants.push_back(published::VariantO3());
    about.variants.push_back(published::VariantO0());
    for (OptionSpec& option : ParallelOptions()) {
      about.options.push_back(std::move(option));
    }
    return about;
  }

  std::unique_ptr<Decoder<Real>> MakeDecoder(
      const Config& config, const SequenceInputs<Real>& inputs) const override {
    if (published::IsPublished(config.variant)) {
      return published::MakeMonotonicDecoder(config, inputs);
    }
    return HardMechanism<Real>::MakeDecoder(config, inputs);
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
