// Names a point by everything that its results follow from, so that a resumed
// or merged run takes equal points and measures others again.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_POINT_HASH_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_POINT_HASH_H_

#include <string>
#include <string_view>

#include "harness/sweep/sweep.h"

namespace attnbench {

// Gives 16 hexadecimal digits, a hash of the point's cells with their reasons
// to be skipped, the case file of its workload, the peer (PeerIdentity,
// peer/files.h) if a cell is the peer's, the sweep's seed, repetitions, trials
// and processes, the program's build and how many relinks of it measure. The
// point's place in the sweep is left out, so that a longer axis keeps its
// points; so is the time limit, as a cell that met it says which it was
// (context.h). Throws UserError if the case file cannot be read.
std::string PointHash(const Sweep& sweep, const Point& point,
                      std::string_view build_id, std::int64_t num_builds,
                      std::string_view peer);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_POINT_HASH_H_
