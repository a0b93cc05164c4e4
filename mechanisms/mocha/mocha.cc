#include "mechanisms/mocha/mocha.h"

#include "mechanisms/monotonic/hard_decoder.h"

namespace attnbench::mocha {

template <class Real>
std::unique_ptr<const Mechanism<Real>> MakeMechanism() {
  return std::make_unique<HardMechanism<Real>>(
      Description{.name = "mocha",
                  .title = "monotonic chunkwise attention",
                  .paper = "Chiu and Raffel 2018, 2.3, algorithm 1",
                  .axes = {"chunk_width", "energy", "end"}},
      [](const Config& config) {
        return ChunkRule::Window(config.chunk_width);
      },
      &MakeReference<Real>);
}

template std::unique_ptr<const Mechanism<float>> MakeMechanism();
template std::unique_ptr<const Mechanism<double>> MakeMechanism();

}  // namespace attnbench::mocha
