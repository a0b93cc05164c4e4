#include "harness/measure/round_order.h"

#include <numeric>
#include <utility>

#include "harness/base/purposes.h"

namespace attnbench {

std::vector<std::size_t> RoundOrder(std::uint64_t seed, std::uint64_t point_key,
                                    int round, std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  // The shuffle of Fisher and Yates: element n - 1 changes places with one of
  // the first n. 24 bits of the index are for n, more cells than a point can
  // have.
  for (std::size_t n = count; n > 1; --n) {
    const std::uint32_t word =
        Philox(seed, kSchedulePurpose, static_cast<std::uint32_t>(round),
               (point_key << 24) ^ n)[0];
    // The choice is uniform except for less than n / 2^32.
    const std::size_t other =
        static_cast<std::size_t>((static_cast<std::uint64_t>(word) * n) >> 32);
    std::swap(order[n - 1], order[other]);
  }
  return order;
}

}  // namespace attnbench
