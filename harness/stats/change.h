// Decides whether a time, or a ratio of times, changed between two results.
// Identical code that was measured twice must not look changed, so a change
// counts only if its interval excludes 1; and sameness is claimed only if the
// interval shows it, never because nothing was found.
#ifndef ATTNBENCH_HARNESS_STATS_CHANGE_H_
#define ATTNBENCH_HARNESS_STATS_CHANGE_H_

#include <string>

#include "harness/stats/statistics.h"

namespace attnbench {

inline constexpr double kDefaultLevel = 0.05;
inline constexpr double kDefaultMargin = 0.05;

enum class ChangeKind { kFaster, kSlower, kSame, kAmbiguous };

const char* ChangeName(ChangeKind kind);  // "FASTER" ...

struct Change {
  ChangeKind kind = ChangeKind::kAmbiguous;
  std::string reason;
  Estimate ratio;  // b over a; the interval may be infinite
};

// Compares b with a, which are both logarithms of times (or of ratios):
//
// FASTER, SLOWER  the interval of b / a excludes 1, and b / a itself lies
//                 outside [1 / (1 + margin), 1 + margin]
// SAME            the interval lies inside these bounds
// AMBIGUOUS       neither
//
// The interval (UnpairedLogRatio) misses with probability at most `miss`: the
// level of the whole table over its number of comparisons. With few processes
// on a side (HasFewProcesses) it is wider by kLayoutFactor on both ends, so
// that such a result is never SAME for a margin below 18 percent, and changed
// only beyond that.
Change ChangeOf(const ProcessSamples& a_logs, const ProcessSamples& b_logs,
                double miss, double margin);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STATS_CHANGE_H_
