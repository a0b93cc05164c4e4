#include "mechanisms/matcha/matcha.h"

#include "mechanisms/monotonic/hard_decoder.h"

namespace attnbench::matcha {

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism() {
  return std::make_unique<HardMechanism<Real>>(
      Description{.name = "matcha",
                  .title = "monotonic adaptive chunkwise attention",
                  .paper = "Chiu and Raffel 2018, appendix C, eq 27",
                  .axes = {"energy", "end"}},
      [](const Config& /*config*/) { return ChunkRule::SinceLast(); },
      &MakeReference<Real>);
}

template std::unique_ptr<const Mechanism<float>> MakeMechanism();
template std::unique_ptr<const Mechanism<double>> MakeMechanism();

}  // namespace attnbench::matcha
