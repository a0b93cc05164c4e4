// Random numbers as a pure function of (seed, purpose, stream, index), from
// Random123's Philox4x32-10. A stateful generator would make a draw depend on
// how many came before it, and so on threads, shards and the order of cells;
// with a counter every number can be had alone, on any machine, in any order.
#ifndef ATTNBENCH_MECHANISMS_COMMON_PHILOX_H_
#define ATTNBENCH_MECHANISMS_COMMON_PHILOX_H_

#include <array>
#include <cstdint>

namespace attnbench {

// Four independent 32-bit words. `purpose` keeps the uses apart (memory,
// states, Bernoulli draws ...), `stream` the draws and sequences of one use.
std::array<std::uint32_t, 4> Philox(std::uint64_t seed, std::uint32_t purpose,
                                    std::uint32_t stream, std::uint64_t index);

// Lies in [0, 1), a multiple of 2^-24: exact in f32 and f64, so that both
// precisions decode the same numbers.
inline double Uniform24(std::uint32_t word) {
  return static_cast<double>(word >> 8) * 0x1p-24;
}

// Lies in [-1, 1), a multiple of 2^-23: exact in f32 and f64.
inline double SymmetricUniform24(std::uint32_t word) {
  return 2.0 * Uniform24(word) - 1.0;
}

// Lies in [0, 1), a multiple of 2^-53. It is for Bernoulli draws: u < p never
// happens at p = 0 and always at p = 1, and small p are not rounded to a coarse
// grid.
inline double Uniform53(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits =
      (static_cast<std::uint64_t>(high) << 21) ^ (low >> 11);
  return static_cast<double>(bits) * 0x1p-53;
}

// A standard normal number of four words (Box and Muller).
double StandardNormal(const std::array<std::uint32_t, 4>& words);

// Purposes that the mechanisms use themselves. The harness numbers its own
// from kFirstHarnessPurpose on.
inline constexpr std::uint32_t kBernoulliPurpose = 1;
inline constexpr std::uint32_t kEnergyNoisePurpose = 2;
inline constexpr std::uint32_t kFirstHarnessPurpose = 16;

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_COMMON_PHILOX_H_
