// Cells that an experiment leaves out. They are not in the result at all,
// unlike skipped cells, which a mechanism cannot do.
#ifndef ATTNBENCH_HARNESS_SWEEP_EXCLUSIONS_H_
#define ATTNBENCH_HARNESS_SWEEP_EXCLUSIONS_H_

#include <span>
#include <string>

#include "harness/sweep/sweep.h"

namespace attnbench {

// Whether one of the exclusions holds for the cell. An axis that the cell does
// not have (null) equals no value; "=T" is the cell's own T.
bool IsExcluded(std::span<const Exclusion> exclusions, const Cell& cell);

// Throws UserError naming "WHERE[i]" for the first exclusion that holds for no
// cell of any of the requests, which differ only in what profiles replace.
void CheckExclusions(std::span<const SweepRequest> requests,
                     const std::string& where);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SWEEP_EXCLUSIONS_H_
