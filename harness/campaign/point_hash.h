// Names a point by everything that its results follow from, so that a resumed
// or merged run takes what is the same and redoes what is not.
#ifndef ATTNBENCH_HARNESS_CAMPAIGN_POINT_HASH_H_
#define ATTNBENCH_HARNESS_CAMPAIGN_POINT_HASH_H_

#include <string>
#include <string_view>

#include "harness/sweep/sweep.h"

namespace attnbench {

// 16 hexadecimal digits, of the point's cells with their reasons to be skipped,
// the case file of its workload, the peer (PeerIdentity, peer_files.h) where a
// cell is that's, the sweep's seed, repetitions, trials and processes, and the
// program's build. Not of its place among the sweep's points, so that a longer
// axis keeps them, nor of the time limit: a cell that met it tells which it was
// (context.h). Throws UserError where the file cannot be read.
std::string PointHash(const AxisTable& table, const Sweep& sweep,
                      const Point& point, std::string_view build_id,
                      std::string_view peer);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CAMPAIGN_POINT_HASH_H_
