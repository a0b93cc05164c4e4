// The order in which the cells of a point are timed. Each round times every
// cell once, in an order of its own, so that drift of the machine (frequency,
// temperature, neighbours) falls on all alternatives alike. The order is a pure
// function of the seed and of what the point is, not of its place among others,
// so it is the same in a longer sweep or a shard; Google Benchmark's own
// interleaving cannot be seeded.
#ifndef ATTNBENCH_HARNESS_MEASURE_ROUND_ORDER_H_
#define ATTNBENCH_HARNESS_MEASURE_ROUND_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attnbench {

// A permutation of 0 .. count - 1, the same for the same arguments. Rounds are
// counted through all processes, so that each has orders of its own.
std::vector<std::size_t> RoundOrder(std::uint64_t seed, std::uint64_t point_key,
                                    int round, std::size_t count);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MEASURE_ROUND_ORDER_H_
