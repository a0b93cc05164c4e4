// Decides whether a time, or a ratio of times, changed between two results.
// Identical code that was measured twice must not look changed, so a change
// counts only if its interval excludes 1; and sameness is claimed only if the
// interval shows it, never because nothing was found. This is for `check`;
// `compare` has the same rule in Python (python/attnbench/answers/change.py).
#ifndef ATTNBENCH_HARNESS_STATS_CHANGE_H_
#define ATTNBENCH_HARNESS_STATS_CHANGE_H_

#include <string>
#include <vector>

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

// The logarithm of b / a with the parts of its variance.
struct LogRatio {
  double value = 0;
  std::vector<Variance> samples = {};  // what the two sides' samples show
  std::vector<Variance> effects = {};  // what they cannot show (Effect::Parts)
};

// FASTER, SLOWER  the interval of b / a excludes 1, and b / a itself lies
//                 outside [1 / (1 + margin), 1 + margin]
// SAME            the interval lies inside these bounds
// AMBIGUOUS       neither
//
// The interval misses with probability `miss`: the level of the whole table
// over its number of comparisons.
Change ChangeOf(const LogRatio& ratio, double miss, double margin);

// A relative change in words: "3.1 %", or "over 1000000 %" from there on.
std::string PercentOf(double change);

// The smallest change that samples without any noise could show, as a share:
// exp of the half width of the effects alone, minus 1.
double Detectable(const std::vector<Variance>& effects, double miss);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STATS_CHANGE_H_
