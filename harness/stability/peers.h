// Sets reported figures of other implementations of alpha's closed form, in f32
// and with alpha chained over the outputs, beside the same figures of our
// presets. Theirs are of one unknown draw, so only the order of magnitude can
// agree; our own spread over draws shows how much it varies. The start of the
// first setting is not reported either: from the first entry a closed form with
// an exclusive product has nothing to divide by and is right, so they must have
// started from a distribution; ours is uniform over the memory.
#ifndef ATTNBENCH_HARNESS_STABILITY_PEERS_H_
#define ATTNBENCH_HARNESS_STABILITY_PEERS_H_

#include <cstdint>
#include <vector>

#include "harness/stability/result.h"

namespace attnbench {

std::vector<StabilityPeer> MeasurePeers(std::uint64_t seed, int draws);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STABILITY_PEERS_H_
