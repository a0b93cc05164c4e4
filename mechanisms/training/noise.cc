#include "mechanisms/training/noise.h"

#include "mechanisms/common/philox.h"

namespace attnbench {

OptionSpec NoiseOption() {
  return {.name = "noise",
          .default_value = 0.0,
          .least = 0,
          .greatest = 1e6,
          .help =
              "modes expect and gradient: standard deviation of the "
              "Gaussian noise added to energies before the sigmoid"};
}

double NoiseOf(const Config& config) {
  const auto option = config.options.find("noise");
  return option == config.options.end() ? 0 : std::get<double>(option->second);
}

double StandardNoise(std::uint64_t seed, std::uint32_t stream, Index i,
                     Index j) {
  return StandardNormal(Philox(
      seed, kEnergyNoisePurpose, stream,
      (static_cast<std::uint64_t>(i) << 32) ^ static_cast<std::uint64_t>(j)));
}

}  // namespace attnbench
