#include "harness/inputs/symbols.h"

#include <algorithm>
#include <cmath>

#include "harness/base/purposes.h"

namespace attnbench {

std::vector<float> SymbolEnergies(std::uint64_t seed, std::uint32_t stream,
                                  Index memory_length, Index output_length,
                                  float sharpness, float background) {
  const Index T = memory_length;
  const Index U = output_length;
  // A scan passes as many entries as there are other symbols, on average.
  const auto symbols = static_cast<std::uint32_t>(
      1 + std::max<Index>(1, T / std::max<Index>(1, U)));
  // The first T symbols are those of the entries, and the outputs look for the
  // others.
  std::vector<std::uint32_t> drawn(Size(T + U));
  for (std::size_t n = 0; n < drawn.size(); ++n) {
    drawn[n] = Philox(seed, kSymbolsPurpose, stream, n)[0] % symbols;
  }
  std::vector<float> energies(Size(U * T));
  for (Index i = 0; i < U; ++i) {
    for (Index j = 0; j < T; ++j) {
      const auto words = Philox(seed, kSymbolNoisePurpose, stream,
                                static_cast<std::uint64_t>(i * T + j));
      double noise = 0;
      for (const std::uint32_t word : words) noise += SymmetricUniform24(word);
      const bool is_copy = drawn[Size(j)] == drawn[Size(T + i)];
      energies[Size(i * T + j)] = static_cast<float>(
          (is_copy ? sharpness : -background) + std::sqrt(0.75) * noise);
    }
  }
  return energies;
}

}  // namespace attnbench
