#include "harness/inputs/symbols.h"

#include <cmath>

#include "harness/base/purposes.h"
#include "harness/inputs/planted.h"

namespace attnbench {
namespace {

// A symbol other than `not_this`; each is as likely.
Index OtherSymbol(std::uint32_t word, Index symbols, Index not_this) {
  const auto drawn =
      static_cast<Index>(word % static_cast<std::uint32_t>(symbols - 1));
  return drawn < not_this ? drawn : drawn + 1;
}

// Has the symbols of a sequence: of its entries, and those looked for.
struct Symbols {
  std::vector<Index> of_entries;  // [T]
  std::vector<Index> wanted;      // [U]
};

Symbols DrawSymbols(std::uint64_t seed, std::uint32_t stream,
                    const std::vector<Index>& path, Index T, Index symbols) {
  Symbols drawn{std::vector<Index>(Size(T)), {}};
  const auto word = [&](Index entry) {
    return Philox(seed, kSymbolsPurpose, stream,
                  static_cast<std::uint64_t>(entry))[0];
  };
  Index at = -1;
  Index wanted = 0;
  for (const Index to : path) {
    if (to != at) {
      wanted = OtherSymbol(word(to), symbols, at < 0 ? 0 : wanted);
      drawn.of_entries[Size(to)] = wanted;
    }
    for (Index j = at + 1; j < to; ++j) {
      drawn.of_entries[Size(j)] = OtherSymbol(word(j), symbols, wanted);
    }
    drawn.wanted.push_back(wanted);
    at = to;
  }
  return drawn;
}

}  // namespace

std::vector<float> SymbolEnergies(std::uint64_t seed, std::uint32_t stream,
                                  Index memory_length, Index output_length,
                                  float sharpness, Index symbols) {
  const Index T = memory_length;
  const Index U = output_length;
  // The states need not solve for the path, so an advance may be any.
  const Symbols drawn = DrawSymbols(
      seed, stream, PlantedPath(seed, stream, T, U, 2 * T + 2), T, symbols);
  std::vector<float> energies(Size(U * T));
  for (Index i = 0; i < U; ++i) {
    for (Index j = 0; j < T; ++j) {
      const auto words = Philox(seed, kSymbolNoisePurpose, stream,
                                static_cast<std::uint64_t>(i * T + j));
      double noise = 0;
      for (const std::uint32_t word : words) noise += SymmetricUniform24(word);
      const bool has = drawn.of_entries[Size(j)] == drawn.wanted[Size(i)];
      energies[Size(i * T + j)] = static_cast<float>(
          (has ? sharpness : -sharpness) + std::sqrt(0.75) * noise);
    }
  }
  return energies;
}

}  // namespace attnbench
