// Figures that were reported of other implementations of alpha's closed form,
// in f32 and with alpha chained over the outputs, beside the same of our
// presets. Theirs are of one unknown draw: the order of magnitude is what can
// agree, and our own spread over draws says how much that is. Of the first
// setting the start is not reported either: from the first entry a closed form
// with an exclusive product has nothing to divide by and is right, so what was
// seen must have started from a distribution; ours is uniform over the memory.
#ifndef ATTNBENCH_HARNESS_STABILITY_PEERS_H_
#define ATTNBENCH_HARNESS_STABILITY_PEERS_H_

#include <cstdint>

#include "harness/axes.h"

namespace attnbench {

// A list of {"test", "preset", "quantity", "least", "median", "largest",
// "draws", "not_finite", "reported"}. `quantity` is attention_error or
// mass_error, the largest of a draw, or attention, one element; draws that are
// not finite are counted and left out of the three; `reported` is null where a
// NaN was.
Json MeasurePeers(std::uint64_t seed, int draws);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STABILITY_PEERS_H_
