#include "mechanisms/common/philox.h"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

namespace attnbench {

std::array<std::uint32_t, 4> Philox(std::uint64_t seed, std::uint32_t purpose,
                                    std::uint32_t stream, std::uint64_t index) {
  const r123::Philox4x32::key_type key = {
      {static_cast<std::uint32_t>(seed),
       static_cast<std::uint32_t>(seed >> 32)}};
  const r123::Philox4x32::ctr_type counter = {
      {static_cast<std::uint32_t>(index),
       static_cast<std::uint32_t>(index >> 32), stream, purpose}};
  const r123::Philox4x32::ctr_type words = r123::Philox4x32()(counter, key);
  return {words[0], words[1], words[2], words[3]};
}

double StandardNormal(const std::array<std::uint32_t, 4>& words) {
  // The number is 1 minus a uniform one, so that log(0) cannot happen.
  const double radius =
      std::sqrt(-2 * std::log(1 - Uniform53(words[0], words[1])));
  return radius *
         std::cos(2 * std::numbers::pi * Uniform53(words[2], words[3]));
}

}  // namespace attnbench
