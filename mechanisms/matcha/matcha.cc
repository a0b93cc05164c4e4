#include "mechanisms/matcha/matcha.h"

#include "mechanisms/matcha/adaptive_expectation.h"
#include "mechanisms/matcha/published_adaptive.h"
#include "mechanisms/monotonic/hard_mechanism.h"

namespace attnbench::matcha {
namespace {

std::vector<VariantSpec> PublishedVariants() {
  return {{.name = "nested",
           .help = "MoChA eq 28 as it is written, O(T^3): exp(u) overflows for "
                   "large u"},
          {.name = "partial_sums",
           .help = "MoChA eqs 40 to 43 with arrays [T, T]: overflows, and is "
                   "0/0 after a p of 1"}};
}

const Description& About() {
  static const Description about = [] {
    Description made =
        HardDescription({.name = "matcha",
                         .title = "monotonic adaptive chunkwise attention",
                         .paper = "Chiu and Raffel 2018, appendix C, eq 27",
                         .axes = {"energy", "end"}},
                        /*has_chunk_energies=*/true, PublishedVariants());
    made.variants.push_back(
        {.name = kPairs,
         .help = "what exact does, by all pairs of start and choice, O(T^2)",
         .modes = {Mode::kExpect, Mode::kGradient}});
    return made;
  }();
  return about;
}

}  // namespace

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism() {
  return std::make_unique<HardMechanism<Real>>(
      About(), [](const Config& /*config*/) { return ChunkRule::SinceLast(); },
      &MakeReference<Real>,
      ChunkTraining<Real>{
          .exact = &MakeAdaptiveExpectation<Real>,
          .cost =
              [](const Config& config, Index /*memory_length*/) {
                return AdaptiveCost<Real>(config);
              },
          .published = {&PublishedAdaptive<Real>,
                        &PublishedAdaptive<Dual<Real>>}});
}

template std::unique_ptr<const Mechanism<float>> MakeMechanism();
template std::unique_ptr<const Mechanism<double>> MakeMechanism();

}  // namespace attnbench::matcha
