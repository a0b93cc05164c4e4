#include "harness/stats/change.h"

#include <fmt/format.h>

#include <cmath>

namespace attnbench {
namespace {

bool ReachesBeyond(const Interval& interval, double margin) {
  return interval.low < 1 / (1 + margin) || interval.high > 1 + margin;
}

bool HoldsOne(const Interval& interval) {
  return interval.low <= 1 && interval.high >= 1;
}

// `half` is of the interval's logarithm.
std::string AmbiguousReason(const Interval& interval, double half,
                            double detectable, double margin) {
  if (std::isinf(half)) {
    return "a single round has no interval: more --repetitions";
  }
  if (!(interval.low > 0) || std::isinf(interval.high)) {
    return "the interval is wider than numbers reach: more --repetitions";
  }
  if (!HoldsOne(interval)) {
    return fmt::format("differs, but perhaps by less than the margin of {:g} %",
                       100 * margin);
  }
  if (detectable > margin) {
    return fmt::format("the same code, built or run again, may differ by {}",
                       PercentOf(detectable));
  }
  return fmt::format(
      "the interval reaches beyond the margin of {:g} %: more --processes",
      100 * margin);
}

}  // namespace

const char* ChangeName(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kFaster:
      return "FASTER";
    case ChangeKind::kSlower:
      return "SLOWER";
    case ChangeKind::kSame:
      return "SAME";
    default:
      return "AMBIGUOUS";
  }
}

std::string PercentOf(double change) {
  constexpr double kMostTold = 1e4;
  if (!(change < kMostTold)) {
    return fmt::format("over {:.0f} %", 100 * kMostTold);
  }
  return fmt::format("{:.1f} %", 100 * change);
}

double Detectable(const std::vector<Variance>& effects, double miss) {
  return std::expm1(HalfWidth(effects, miss));
}

Change ChangeOf(const LogRatio& ratio, double miss, double margin) {
  std::vector<Variance> parts = ratio.effects;
  parts.insert(parts.end(), ratio.samples.begin(), ratio.samples.end());
  const double half = HalfWidth(parts, miss);
  Change change;
  change.ratio = Exp({ratio.value, {ratio.value - half, ratio.value + half}});
  const auto& [low, high] = change.ratio.interval;
  const double most = 1 + margin;
  if (!ReachesBeyond(change.ratio.interval, margin)) {
    change.kind = ChangeKind::kSame;
    change.reason =
        fmt::format("the interval lies within {:g} %", 100 * margin);
    return change;
  }
  if (low > 1 && change.ratio.value > most) {
    change.kind = ChangeKind::kSlower;
  } else if (high < 1 && change.ratio.value < 1 / most) {
    change.kind = ChangeKind::kFaster;
  } else {
    change.reason = AmbiguousReason(change.ratio.interval, half,
                                    Detectable(ratio.effects, miss), margin);
    return change;
  }
  change.reason = "the interval excludes 1";
  return change;
}

}  // namespace attnbench
