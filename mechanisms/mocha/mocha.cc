#include "mechanisms/mocha/mocha.h"

#include "mechanisms/mocha/published_window.h"
#include "mechanisms/mocha/window_expectation.h"
#include "mechanisms/monotonic/banded_selection.h"
#include "mechanisms/monotonic/hard_mechanism.h"

namespace attnbench::mocha {
namespace {

std::vector<VariantSpec> PublishedVariants() {
  return {
      BandedVariant(),
      {.name = "nested",
       .help = "MoChA eq 17 as it is written: exp(u) overflows for large u"},
      {.name = "moving_sum",
       .help = "MoChA eqs 19 and 25 with moving sums as differences of "
               "cumulative sums: overflows, and loses digits with T"},
      {.name = "clipped",
       .help = "the authors' notebook: exp(u - largest u) clipped below at "
               "1e-5, wrong where a chunk is far below the largest u"}};
}

const Description& About() {
  static const Description about =
      HardDescription({.name = "mocha",
                       .title = "monotonic chunkwise attention",
                       .paper = "Chiu and Raffel 2018, 2.3, algorithm 1",
                       .axes = {"energy", "end"},
                       .options = {{.name = "chunk_width",
                                    .default_value = std::int64_t{4},
                                    .least = 1,
                                    .help = "w, entries of a window"},
                                   BoundOption()}},
                      /*has_chunk_energies=*/true, PublishedVariants());
  return about;
}

}  // namespace

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism() {
  return std::make_unique<HardMechanism<Real>>(
      About(),
      [](const Config& config) {
        return ChunkRule::Window(config.Option<Index>("chunk_width"));
      },
      &MakeReference<Real>,
      ChunkTraining<Real>{
          .exact = &MakeWindowExpectation<Real>,
          .cost = &WindowCost,
          .published = {&PublishedWindow<Real>, &PublishedWindow<Dual<Real>>}});
}

template std::unique_ptr<const Mechanism<float>> MakeMechanism();
template std::unique_ptr<const Mechanism<double>> MakeMechanism();

}  // namespace attnbench::mocha
