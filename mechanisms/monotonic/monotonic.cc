#include "mechanisms/monotonic/monotonic.h"

#include "mechanisms/monotonic/banded_selection.h"
#include "mechanisms/monotonic/hard_mechanism.h"
#include "mechanisms/monotonic/parallel_selection.h"
#include "mechanisms/published/published.h"

namespace attnbench::monotonic {
namespace {

const Description& About() {
  static const Description about = [] {
    const VariantSpec triangular = {
        .name = kTriangular,
        .help =
            "alpha by a triangular product (EMMA, Ma et al. 2023), "
            "O(T^2) for each output: right, but quadratic"};
    Description made = HardDescription(
        {.name = "monotonic",
         .title = "hard monotonic attention",
         .paper = "Raffel et al. 2017, 2.2, algorithm 1",
         .axes = {"energy", "end"},
         .options = {BoundOption()}},
        /*has_chunk_energies=*/false, {triangular, BandedVariant()});
    made.forms.push_back({kTriangular, "EMMA",
                          "Ma et al. 2023, arXiv 2312.04515; its code for "
                          "training is not public",
                          "nothing, as it does not divide"});
    made.variants.push_back(published::VariantO3());
    made.variants.push_back(published::VariantO0());
    return made;
  }();
  return about;
}

template <class Real>
class Monotonic final : public HardMechanism<Real> {
 public:
  Monotonic()
      : HardMechanism<Real>(
            About(),
            [](const Config& /*config*/) { return ChunkRule::ChosenOnly(); },
            &MakeReference<Real>) {}

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
