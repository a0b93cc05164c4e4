// Names a point by everything that its results follow from, so that a resumed
// or merged run takes what is the same and redoes what is not.
#ifndef ATTNBENCH_HARNESS_POINT_HASH_H_
#define ATTNBENCH_HARNESS_POINT_HASH_H_

#include <string>
#include <string_view>

#include "harness/sweep.h"

namespace attnbench {

// 16 hexadecimal digits, of the point's cells with their reasons to be skipped,
// the case file of its workload, its place in the sweep (which decides the
// order of rounds), the sweep's seed, repetitions, trials and processes, and
// the program's build. Throws UserError where the file cannot be read.
std::string PointHash(const AxisTable& table, const Sweep& sweep,
                      std::size_t point_index, std::string_view build_id);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_POINT_HASH_H_
