#include "harness/results/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "harness/base/exit_code.h"
#include "harness/results/summary.h"

namespace attnbench {
namespace {

ComparedSide SideOf(const ReadSweep& side) {
  const SweepContext& context = side.result.context;
  return {.path = side.path,
          .commit = context.commit,
          .build_id = context.build_id,
          .date = context.date,
          .cpu = context.cpu,
          .simd = context.simd,
          .valid = context.valid,
          .invalid_reasons = context.invalid_reasons,
          .warnings = context.warnings};
}

ComparedTime TimeOf(const CellMatch::Pair& pair, const Change& change) {
  const Interval& interval = change.ratio.interval;
  ComparedTime time{static_cast<const CellIdentity&>(*pair.a)};
  time.verdict = ChangeName(change.kind);
  time.reason = change.reason;
  time.ratio = change.ratio.value;
  if (std::isfinite(interval.low) && std::isfinite(interval.high)) {
    time.interval = interval;
  }
  time.a_ns = *pair.a->median_ns;
  time.a_processes = pair.a->processes;
  time.b_ns = *pair.b->median_ns;
  time.b_processes = pair.b->processes;
  return time;
}

void AddTimes(const CellMatch& match, const CompareOptions& options,
              Comparison& comparison) {
  std::vector<CellMatch::Pair> timed;
  for (const CellMatch::Pair& pair : match.both) {
    if (pair.a->is_ok() && pair.b->is_ok()) {
      timed.push_back(pair);
    } else {
      comparison.untimed.push_back({*pair.a, pair.a->status, pair.b->status});
    }
  }
  comparison.comparisons = static_cast<std::int64_t>(timed.size());
  std::vector<double> ratios;
  for (const CellMatch::Pair& pair : timed) {
    const Change change = ChangeOf(
        Logs(SamplesOf(*pair.a)), Logs(SamplesOf(*pair.b)),
        options.level / static_cast<double>(timed.size()), options.margin);
    comparison.rows.push_back(TimeOf(pair, change));
    ratios.push_back(change.ratio.value);
  }
  if (!ratios.empty()) comparison.common_ratio = Median(ratios);
}

CellNames NamesIn(const Comparison& comparison) {
  CellNames names;
  names.AddAll(comparison.rows);
  names.AddAll(comparison.untimed);
  names.AddAll(comparison.changes);
  names.AddAll(comparison.only_a);
  names.AddAll(comparison.only_b);
  return names;
}

std::string RowText(const ComparedTime& row, const std::string& name) {
  const std::string span =
      row.interval ? fmt::format("[{:.3f}, {:.3f}]", row.interval->low,
                                 row.interval->high)
                   : "[none]";
  return fmt::format("{:<10}{:>7.3f} {:<16} {}: {}\n", row.verdict, row.ratio,
                     span, name, row.reason);
}

std::string SummaryText(const Comparison& comparison) {
  std::map<std::string, int> number;
  for (const ComparedTime& row : comparison.rows) ++number[row.verdict];
  std::string text;
  for (const ChangeKind kind : {ChangeKind::kFaster, ChangeKind::kSlower,
                                ChangeKind::kSame, ChangeKind::kAmbiguous}) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        number[ChangeName(kind)], ChangeName(kind));
  }
  text += fmt::format(
      "; at most {:g} for any false FASTER or SLOWER among {}, "
      "margin {:g} %",
      comparison.level, comparison.comparisons, 100 * comparison.margin);
  if (comparison.common_ratio) {
    text += fmt::format("; all together {:.3f}", *comparison.common_ratio);
  }
  return text + "\n";
}

std::string HeadText(const Comparison& comparison) {
  std::string text;
  for (const ComparedSide* side : {&comparison.a, &comparison.b}) {
    for (const std::string& reason : side->invalid_reasons) {
      text += fmt::format("INVALID: {}: {}\n", side->path, reason);
    }
  }
  for (const ComparedSetup& one : comparison.differences) {
    text += fmt::format("differs: {}: {} and {}\n", one.field, one.a.dump(),
                        one.b.dump());
  }
  return text;
}

}  // namespace

Comparison CompareResults(const ReadSweep& a, const ReadSweep& b,
                          const CompareOptions& options) {
  Comparison comparison;
  comparison.a = SideOf(a);
  comparison.b = SideOf(b);
  for (auto& one : FingerprintDifferences(a.result.context, b.result.context)) {
    comparison.differences.push_back({std::move(one)});
  }
  comparison.level = options.level;
  comparison.margin = options.margin;
  const CellMatch match = MatchCells(a.result, b.result);
  AddTimes(match, options, comparison);
  for (const CellMatch::Pair& pair : match.both) {
    for (NumberChange& change : NumberChanges(*pair.a, *pair.b)) {
      comparison.changes.push_back({*pair.a, std::move(change)});
    }
  }
  for (const ResultCell* cell : match.only_a) {
    comparison.only_a.push_back(*cell);
  }
  for (const ResultCell* cell : match.only_b) {
    comparison.only_b.push_back(*cell);
  }
  return comparison;
}

std::string CompareText(const Comparison& comparison) {
  const CellNames names = NamesIn(comparison);
  std::string text = HeadText(comparison);
  for (const ComparedNumber& change : comparison.changes) {
    text += fmt::format("changed: {}: {} {} -> {}\n", names.Name(change),
                        change.field, change.a.dump(), change.b.dump());
  }
  if (!comparison.rows.empty()) {
    text += fmt::format("{:<10}{:>7} {:<16} cell: reason\n", "verdict", "B / A",
                        "interval");
  }
  for (const ComparedTime& row : comparison.rows) {
    text += RowText(row, names.Name(row));
  }
  for (const UntimedCell& cell : comparison.untimed) {
    text += fmt::format("no time: {}: {} in A, {} in B\n", names.Name(cell),
                        StatusName(cell.a_status), StatusName(cell.b_status));
  }
  for (const CellIdentity& cell : comparison.only_a) {
    text += fmt::format("only in A: {}\n", names.Name(cell));
  }
  for (const CellIdentity& cell : comparison.only_b) {
    text += fmt::format("only in B: {}\n", names.Name(cell));
  }
  return text + SummaryText(comparison);
}

int CompareExitCode(const Comparison& comparison) {
  const bool has_intervals = std::ranges::any_of(
      comparison.rows,
      [](const ComparedTime& row) { return row.interval.has_value(); });
  if (!comparison.only_a.empty() || !comparison.only_b.empty() ||
      !has_intervals) {
    return kNothingToCompare;
  }
  if (!comparison.a.valid || !comparison.b.valid) return kFailed;
  // A status that became ok is no change for the worse.
  const auto is_worse = [](const ComparedNumber& change) {
    return change.field != "status" || change.b != StatusName(CellStatus::kOk);
  };
  const auto has_failed = [](const UntimedCell& cell) {
    return IsFailure(cell.b_status);
  };
  const auto is_slower = [](const ComparedTime& row) {
    return row.verdict == ChangeName(ChangeKind::kSlower);
  };
  return std::ranges::any_of(comparison.changes, is_worse) ||
                 std::ranges::any_of(comparison.untimed, has_failed) ||
                 std::ranges::any_of(comparison.rows, is_slower)
             ? kFailed
             : kGood;
}

}  // namespace attnbench
