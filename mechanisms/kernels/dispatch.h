// What the SIMD level does to Highway's dispatcher, for the files that have a
// table of kernels at every level.
#ifndef ATTNBENCH_MECHANISMS_KERNELS_DISPATCH_H_
#define ATTNBENCH_MECHANISMS_KERNELS_DISPATCH_H_

#include <hwy/targets.h>  // not highway.h, which must come after foreach_target.h

#include <cstdint>
#include <string>

#include "mechanisms/common/check.h"

namespace attnbench {

// Lets the dispatcher see only `targets` (0: all that there are).
inline void RestrictTargets(std::int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

// Highway's number of a level of SimdLevels(); another name is a bug.
inline std::int64_t TargetOf(const std::string& level) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (hwy::TargetName(target) == level) return target;
  }
  CheckFailed(__FILE__, __LINE__, "no SIMD level " + level);
}

// Gives what `dispatched` returns while the dispatcher sees only that level;
// afterwards it sees all of them.
template <class Dispatched>
decltype(auto) AtLevel(const std::string& level, Dispatched dispatched) {
  RestrictTargets(TargetOf(level));
  decltype(auto) table = dispatched();
  RestrictTargets(0);
  return table;
}

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_KERNELS_DISPATCH_H_
