#include "harness/stats/change.h"

#include <fmt/format.h>

namespace attnbench {
namespace {

bool ReachesBeyond(const Interval& interval, double margin) {
  return interval.low < 1 / (1 + margin) || interval.high > 1 + margin;
}

bool HoldsOne(const Interval& interval) {
  return interval.low <= 1 && interval.high >= 1;
}

std::string AmbiguousReason(const Interval& interval, bool has_few,
                            double margin) {
  if (!(interval.low > 0)) {
    return "a single round has no interval: more --repetitions";
  }
  if (has_few) {
    const Interval of_rounds = {interval.low * kLayoutFactor,
                                interval.high / kLayoutFactor};
    if (HoldsOne(of_rounds) && ReachesBeyond(of_rounds, margin)) {
      return "the rounds are too noisy: a quieter machine, more --repetitions "
             "and --processes";
    }
    return fmt::format(
        "fewer than {} processes cannot tell a change of up to {:.0f} % from "
        "that of their layout: measure both with --processes",
        kLeastProcesses, 100 * (kLayoutFactor - 1));
  }
  if (!HoldsOne(interval)) {
    return fmt::format("differs, but perhaps by less than the margin of {:g} %",
                       100 * margin);
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

Change ChangeOf(const ProcessSamples& a_logs, const ProcessSamples& b_logs,
                double miss, double margin) {
  Change change;
  change.ratio = Exp(UnpairedLogRatio(a_logs, b_logs, miss));
  const auto& [low, high] = change.ratio.interval;
  const double most = 1 + margin;
  const double least = 1 / most;
  const bool has_few = HasFewProcesses(a_logs) || HasFewProcesses(b_logs);
  if (!ReachesBeyond(change.ratio.interval, margin)) {
    change.kind = ChangeKind::kSame;
    change.reason =
        fmt::format("the interval lies within {:g} %", 100 * margin);
  } else if (low > 1 && change.ratio.value > most) {
    change.kind = ChangeKind::kSlower;
  } else if (high < 1 && change.ratio.value < least) {
    change.kind = ChangeKind::kFaster;
  } else {
    change.reason = AmbiguousReason(change.ratio.interval, has_few, margin);
    return change;
  }
  if (change.reason.empty()) {
    change.reason = fmt::format("the interval excludes 1{}",
                                has_few ? ", whatever the layout" : "");
  }
  return change;
}

}  // namespace attnbench
