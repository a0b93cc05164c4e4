#include <cmath>
#include <numbers>

#include "mechanisms/common/philox.h"
#include "mechanisms/training/attention_function.h"

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

// Box and Muller, of the first uniform's complement: log(0) cannot happen.
double StandardNoise(std::uint64_t seed, std::uint32_t stream, Index i,
                     Index j) {
  const auto words = Philox(
      seed, kEnergyNoisePurpose, stream,
      (static_cast<std::uint64_t>(i) << 32) ^ static_cast<std::uint64_t>(j));
  const double radius =
      std::sqrt(-2 * std::log(1 - Uniform53(words[0], words[1])));
  return radius *
         std::cos(2 * std::numbers::pi * Uniform53(words[2], words[3]));
}

}  // namespace attnbench
