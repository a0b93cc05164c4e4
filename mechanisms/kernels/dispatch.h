// Which SIMD levels there are, and what the level does to Highway's dispatcher:
// for the files that have a table of kernels at every level. They include this
// before Highway.
#ifndef ATTNBENCH_MECHANISMS_KERNELS_DISPATCH_H_
#define ATTNBENCH_MECHANISMS_KERNELS_DISPATCH_H_

#ifdef HIGHWAY_HWY_DETECT_TARGETS_H_
#error "dispatch.h says which levels are compiled: Highway comes after it"
#endif
// The size of these vectors is known only at run time, and kernels move lanes
// by a size known when they are compiled. Arm CPUs with other sizes than those
// of SVE_256 and SVE2_128 take NEON.
#ifndef HWY_DISABLED_TARGETS  // else it is said by who compiles
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_RVV)
#endif
// The plain level, too, where the compiler may assume a better one: Highway's
// NEON is for CPUs that have AES, and not every Arm CPU has.
#define HWY_COMPILE_ALL_ATTAINABLE

#include <hwy/targets.h>  // not highway.h, which must come after foreach_target.h

#include <cstdint>
#include <string>

#include "mechanisms/common/arithmetic.h"
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
// afterwards it sees what it saw before.
template <class Dispatched>
decltype(auto) AtLevel(const std::string& level, Dispatched dispatched) {
  const std::int64_t seen = hwy::SupportedTargets();
  RestrictTargets(TargetOf(level));
  decltype(auto) table = dispatched();
  RestrictTargets(seen);
  return table;
}

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_KERNELS_DISPATCH_H_
