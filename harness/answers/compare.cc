#include "harness/answers/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <vector>

#include "harness/answers/columns.h"
#include "harness/answers/junit.h"
#include "harness/base/exit_code.h"
#include "harness/base/printable.h"
#include "harness/results/summary.h"
#include "mechanisms/common/check.h"

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

using Pairs = std::vector<CellMatch::Pair>;

Center LogTimeOf(const ResultCell& cell) {
  return CenterOf(Logs(SamplesOf(cell)), cell.builds);
}

EffectCounts HiddenFrom(const CellMatch::Pair& pair,
                        const Comparison& comparison) {
  EffectCounts counts =
      HiddenIn(pair, comparison.a.build_id == comparison.b.build_id);
  if (comparison.paired) counts.runs = 0;  // one run measured both
  return counts;
}

// An Effect is of a ratio of two cells. A cell over the centre of all cells has
// half of that variance.
EffectCounts Halves(EffectCounts counts) {
  return {.builds = counts.builds / 2,
          .processes = counts.processes / 2,
          .runs = counts.runs / 2};
}

// Each cell is compared with all others, most of which are ours, so a peer's
// cell has a peer's effect.
const Effect& EffectOf(const CellMatch::Pair& pair, const Effects& effects) {
  return IsPeers(*pair.a) ? effects.peer : effects.ratio;
}

void SetCommon(const Center& common, std::vector<Variance> parts,
               Comparison& comparison) {
  parts.push_back(common.variance);
  comparison.relative = true;
  comparison.common_ratio = std::exp(common.value);
  const double half = HalfWidth(parts, kMiss);
  comparison.common_interval = Finite(
      Exp({common.value, {common.value - half, common.value + half}}).interval);
}

// The ratios of two runs.
std::vector<LogRatio> UnpairedRatios(const Pairs& timed, const Effects& effects,
                                     Comparison& comparison) {
  std::vector<LogRatio> ratios;
  std::vector<double> values;
  for (const CellMatch::Pair& pair : timed) {
    const Center a = LogTimeOf(*pair.a);
    const Center b = LogTimeOf(*pair.b);
    values.push_back(b.value - a.value);
    ratios.push_back({values.back(), {a.variance, b.variance}});
  }
  if (timed.size() < kLeastCommon) {
    for (std::size_t i = 0; i < timed.size(); ++i) {
      ratios[i].effects = effects.time.Parts(HiddenFrom(timed[i], comparison));
    }
    if (!values.empty()) comparison.common_ratio = std::exp(Median(values));
    return ratios;
  }
  const Center common = CenterOf({values});
  // A build moves each cell differently, so the centre of all hardly moves
  // with it.
  EffectCounts hidden = HiddenFrom(timed[0], comparison);
  hidden.builds = 0;
  // Cells do not show what a process does to all of them.
  hidden.processes = 1.0 / static_cast<double>(timed[0].a->processes) +
                     1.0 / static_cast<double>(timed[0].b->processes);
  SetCommon(common, effects.time.Parts(hidden), comparison);
  for (std::size_t i = 0; i < timed.size(); ++i) {
    ratios[i].value -= common.value;
    ratios[i].effects = EffectOf(timed[i], effects)
                            .Parts(Halves(HiddenFrom(timed[i], comparison)));
    ratios[i].effects.push_back(effects.OfSpeed(common.value));
  }
  return ratios;
}

// The logarithms of b / a of each process.
ProcessSamples ProcessRatios(const CellMatch::Pair& pair) {
  const std::vector<double> a = ProcessMedians(Logs(SamplesOf(*pair.a)));
  const std::vector<double> b = ProcessMedians(Logs(SamplesOf(*pair.b)));
  ATTN_CHECK_EQ(a.size(), b.size());
  ProcessSamples ratios;
  for (std::size_t k = 0; k < a.size(); ++k) ratios.push_back({b[k] - a[k]});
  return ratios;
}

std::int64_t PairedBuilds(const CellMatch::Pair& pair) {
  return pair.a->builds == pair.b->builds ? pair.a->builds : 1;
}

// The median of the cells' ratios for each process.
ProcessSamples CommonOfProcesses(const std::vector<ProcessSamples>& cells) {
  ProcessSamples common;
  for (std::size_t k = 0; k < cells[0].size(); ++k) {
    std::vector<double> of_process;
    for (const ProcessSamples& cell : cells) {
      ATTN_CHECK_EQ(cell.size(), cells[0].size());
      of_process.push_back(cell[k][0]);
    }
    common.push_back({Median(of_process)});
  }
  return common;
}

// The ratios of two programs that were measured in turn.
std::vector<LogRatio> PairedRatios(const Pairs& timed, const Effects& effects,
                                   Comparison& comparison) {
  if (timed.empty()) return {};
  std::vector<ProcessSamples> cells;
  for (const CellMatch::Pair& pair : timed) {
    cells.push_back(ProcessRatios(pair));
  }
  const ProcessSamples common = CommonOfProcesses(cells);
  if (timed.size() >= kLeastCommon) {
    SetCommon(CenterOf(common, PairedBuilds(timed[0])),
              effects.ratio.Parts(Halves(HiddenFrom(timed[0], comparison))),
              comparison);
    for (ProcessSamples& cell : cells) {
      for (std::size_t k = 0; k < cell.size(); ++k) cell[k][0] -= common[k][0];
    }
  } else {
    comparison.common_ratio = std::exp(CenterOf(common).value);
  }
  std::vector<LogRatio> ratios;
  for (std::size_t i = 0; i < timed.size(); ++i) {
    const Center center = CenterOf(cells[i], PairedBuilds(timed[i]));
    ratios.push_back({center.value,
                      {center.variance},
                      EffectOf(timed[i], effects)
                          .Parts(Halves(HiddenFrom(timed[i], comparison)))});
  }
  return ratios;
}

ComparedTime TimeOf(const CellMatch::Pair& pair, const Change& change) {
  ComparedTime time{static_cast<const CellIdentity&>(*pair.a)};
  time.verdict = ChangeName(change.kind);
  time.reason = change.reason;
  time.ratio = change.ratio.value;
  time.interval = Finite(change.ratio.interval);
  time.a_ns = std::exp(LogTimeOf(*pair.a).value);
  time.a_processes = pair.a->processes;
  time.b_ns = std::exp(LogTimeOf(*pair.b).value);
  time.b_processes = pair.b->processes;
  return time;
}

// A sample of one trial uses one draw alone (DrawsOfSample).
bool IsOfAllDraws(const ResultCell& cell) {
  return *cell.trials_per_sample >= std::ssize(cell.draw_ns);
}

// The slowest draw over the fastest.
double RangeOfDraws(const ResultCell& cell) {
  if (cell.draw_ns.empty()) return 1;
  const auto [least, greatest] = std::ranges::minmax(cell.draw_ns);
  return greatest / least;
}

// Samples of one draw and samples of all may differ by as much as draws do.
Change ChangeIn(const CellMatch::Pair& pair, const LogRatio& ratio, double miss,
                double margin) {
  Change change = ChangeOf(ratio, miss, margin);
  if (IsOfAllDraws(*pair.a) == IsOfAllDraws(*pair.b)) return change;
  const double range = std::max(RangeOfDraws(*pair.a), RangeOfDraws(*pair.b));
  const Interval& interval = change.ratio.interval;
  if (interval.low > range || interval.high < 1 / range) return change;
  change.kind = ChangeKind::kAmbiguous;
  change.reason = fmt::format(
      "a sample is of all draws on one side and of one on the "
      "other, and draws differ by {}",
      PercentOf(range - 1));
  return change;
}

Pairs TimedIn(const CellMatch& match, Comparison& comparison) {
  Pairs timed;
  for (const CellMatch::Pair& pair : match.both) {
    if (pair.a->is_ok() && pair.b->is_ok()) {
      timed.push_back(pair);
    } else {
      comparison.untimed.push_back({*pair.a, pair.a->status, pair.b->status});
    }
  }
  return timed;
}

void AddTimes(const CellMatch& match, const CompareOptions& options,
              Comparison& comparison) {
  const Pairs timed = TimedIn(match, comparison);
  comparison.comparisons = static_cast<std::int64_t>(timed.size());
  const double miss = options.level / static_cast<double>(timed.size());
  const std::vector<LogRatio> ratios =
      comparison.paired ? PairedRatios(timed, options.effects, comparison)
                        : UnpairedRatios(timed, options.effects, comparison);
  for (std::size_t i = 0; i < timed.size(); ++i) {
    comparison.rows.push_back(
        TimeOf(timed[i], ChangeIn(timed[i], ratios[i], miss, options.margin)));
    if (HiddenFrom(timed[i], comparison).builds == 0) continue;
    comparison.placement = std::max(comparison.placement.value_or(0),
                                    Detectable(ratios[i].effects, miss));
  }
}

Comparison Compare(const ReadSweep& a, const ReadSweep& b,
                   const CompareOptions& options, bool is_paired) {
  Comparison comparison;
  comparison.a = SideOf(a);
  comparison.b = SideOf(b);
  for (auto& one : FingerprintDifferences(a.result.context, b.result.context)) {
    comparison.differences.push_back({std::move(one)});
  }
  comparison.paired = is_paired;
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

// ---- for people -------------------------------------------------------------

CellNames NamesIn(const Comparison& comparison) {
  CellNames names;
  names.AddAll(comparison.rows);
  names.AddAll(comparison.untimed);
  names.AddAll(comparison.changes);
  names.AddAll(comparison.only_a);
  names.AddAll(comparison.only_b);
  return names;
}

using Lines = std::vector<std::string>;

std::string SpanText(const std::optional<Interval>& interval) {
  return interval ? fmt::format("[{}, {}]", FactorText(interval->low),
                                FactorText(interval->high))
                  : "[none]";
}

std::string CommonText(const Comparison& comparison) {
  if (!comparison.relative) {
    return fmt::format(
        "fewer than {} cells: they cannot be divided by what they have in "
        "common, so each ratio has in it what the machine did",
        kLeastCommon);
  }
  return fmt::format(
      "all together B takes {} {} times as long as A: {}; each change is "
      "beside that",
      FactorText(*comparison.common_ratio),
      SpanText(comparison.common_interval),
      comparison.paired ? "all of the code"
                        : "the machine, or all of the code");
}

// What stands above the table.
Lines HeadLines(const Comparison& comparison, const CellNames& names) {
  Lines lines;
  for (const ComparedSide* side : {&comparison.a, &comparison.b}) {
    for (const std::string& reason : side->invalid_reasons) {
      lines.push_back(fmt::format("INVALID: {}: {}", side->path, reason));
    }
    for (const std::string& warning : side->warnings) {
      lines.push_back(fmt::format("warning: {}: {}", side->path, warning));
    }
  }
  for (const ComparedSetup& one : comparison.differences) {
    lines.push_back(fmt::format("differs: {}: {} and {}", one.field,
                                one.a.dump(), one.b.dump()));
  }
  for (const ComparedNumber& change : comparison.changes) {
    lines.push_back(fmt::format("changed: {}: {} {} -> {}", names.Name(change),
                                change.field, change.a.dump(),
                                change.b.dump()));
  }
  if (!comparison.rows.empty()) lines.push_back(CommonText(comparison));
  return lines;
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
  return text + fmt::format(
                    "; at most {:g} for any false FASTER or SLOWER among {}, "
                    "margin {:g} %",
                    comparison.level, comparison.comparisons,
                    100 * comparison.margin);
}

// What stands below the table.
Lines FootLines(const Comparison& comparison, const CellNames& names) {
  Lines lines;
  for (const UntimedCell& cell : comparison.untimed) {
    lines.push_back(fmt::format("no time: {}: {} in A, {} in B",
                                names.Name(cell), NameOf(cell.a_status),
                                NameOf(cell.b_status)));
  }
  for (const CellIdentity& cell : comparison.only_a) {
    lines.push_back(fmt::format("only in A: {}", names.Name(cell)));
  }
  for (const CellIdentity& cell : comparison.only_b) {
    lines.push_back(fmt::format("only in B: {}", names.Name(cell)));
  }
  if (comparison.placement) {
    lines.push_back(
        fmt::format("where a side is one build, no change below {} can be "
                    "told from another placement of the code",
                    PercentOf(*comparison.placement)));
  }
  lines.push_back(SummaryText(comparison));
  return lines;
}

// ---- for other programs -----------------------------------------------------

bool HaveIntervals(const Comparison& comparison) {
  return std::ranges::any_of(comparison.rows, [](const ComparedTime& row) {
    return row.interval.has_value();
  });
}

// A status that became ok is no change for the worse.
bool IsWorse(const ComparedNumber& change) {
  return change.field != "status" || change.b != NameOf(CellStatus::kOk);
}

bool HasFailed(const UntimedCell& cell) { return IsFailure(cell.b_status); }

bool IsSlower(const ComparedTime& row) {
  return row.verdict == ChangeName(ChangeKind::kSlower);
}

bool AllAreSlower(const Comparison& comparison) {
  return comparison.paired && comparison.common_interval &&
         comparison.common_interval->low > 1 &&
         *comparison.common_ratio > 1 + comparison.margin;
}

TestCase CaseOf(const ComparedTime& row, const CellNames& names) {
  TestCase one{.name = names.Name(row)};
  if (IsSlower(row)) one.outcome = Outcome::kFailed;
  if (row.verdict == ChangeName(ChangeKind::kAmbiguous)) {
    one.outcome = Outcome::kSkipped;
  }
  one.message = fmt::format("{}: {} {}: {}", row.verdict, FactorText(row.ratio),
                            SpanText(row.interval), row.reason);
  return one;
}

TestNotes NotesOn(const Comparison& comparison, const CellNames& names) {
  Lines lines = HeadLines(comparison, names);
  std::ranges::copy(FootLines(comparison, names), std::back_inserter(lines));
  TestNotes notes = NotesOn(std::move(lines), comparison.differences);
  for (const ComparedSide* side : {&comparison.a, &comparison.b}) {
    for (const std::string& warning : side->warnings) {
      notes.properties.emplace_back("warning: " + side->path, warning);
    }
  }
  return notes;
}

}  // namespace

Comparison CompareResults(const ReadSweep& a, const ReadSweep& b,
                          const CompareOptions& options) {
  return Compare(a, b, options, /*is_paired=*/false);
}

Comparison ComparePaired(const ReadSweep& a, const ReadSweep& b,
                         const CompareOptions& options) {
  return Compare(a, b, options, /*is_paired=*/true);
}

std::string CompareText(const Comparison& comparison) {
  const CellNames names = NamesIn(comparison);
  std::string text;
  for (const std::string& line : HeadLines(comparison, names)) {
    text += line + "\n";
  }
  if (!comparison.rows.empty()) {
    text += fmt::format("{:<10}{:>7} {:<16} {:>7} cell: reason\n", "verdict",
                        "change", "interval", "B / A");
  }
  for (const ComparedTime& row : comparison.rows) {
    text += fmt::format("{:<10}{:>7} {:<16} {:>7} {}: {}\n", row.verdict,
                        FactorText(row.ratio), SpanText(row.interval),
                        FactorText(row.b_ns / row.a_ns), names.Name(row),
                        row.reason);
  }
  for (const std::string& line : FootLines(comparison, names)) {
    text += line + "\n";
  }
  return text;
}

std::string CompareMarkdown(const Comparison& comparison) {
  const CellNames names = NamesIn(comparison);
  std::string text;
  for (const std::string& line : HeadLines(comparison, names)) {
    text += "- " + MarkdownText(line) + "\n";
  }
  if (!comparison.rows.empty()) {
    text +=
        "\n| cell | verdict | change | interval | B / A | reason |\n"
        "| --- | --- | ---: | --- | ---: | --- |\n";
  }
  for (const ComparedTime& row : comparison.rows) {
    text += fmt::format(
        "| {} | {} | {} | {} | {} | {} |\n", MarkdownText(names.Name(row)),
        row.verdict, FactorText(row.ratio), SpanText(row.interval),
        FactorText(row.b_ns / row.a_ns), MarkdownText(row.reason));
  }
  text += "\n";
  for (const std::string& line : FootLines(comparison, names)) {
    text += "- " + MarkdownText(line) + "\n";
  }
  return text;
}

std::string CompareJUnit(const Comparison& comparison) {
  const CellNames names = NamesIn(comparison);
  std::vector<TestCase> cases;
  const auto add = [&](std::string name, Outcome outcome, std::string message) {
    cases.push_back({std::move(name), outcome, std::move(message)});
  };
  for (const ComparedSide* side : {&comparison.a, &comparison.b}) {
    if (side->valid) continue;
    add("valid: " + side->path, Outcome::kError,
        fmt::format("{}", fmt::join(side->invalid_reasons, "; ")));
  }
  if (!HaveIntervals(comparison)) {
    add("times", Outcome::kError, "none could be compared");
  }
  if (AllAreSlower(comparison)) {
    add("all together", Outcome::kFailed, CommonText(comparison));
  }
  for (const ComparedTime& row : comparison.rows) {
    cases.push_back(CaseOf(row, names));
  }
  for (const ComparedNumber& change : comparison.changes) {
    add(names.Name(change) + ": " + change.field,
        IsWorse(change) ? Outcome::kFailed : Outcome::kPassed,
        change.a.dump() + " -> " + change.b.dump());
  }
  for (const UntimedCell& cell : comparison.untimed) {
    add(names.Name(cell),
        HasFailed(cell) ? Outcome::kFailed : Outcome::kSkipped,
        fmt::format("no time: {} in A, {} in B", NameOf(cell.a_status),
                    NameOf(cell.b_status)));
  }
  for (const CellIdentity& cell : comparison.only_a) {
    add(names.Name(cell), Outcome::kError, "only in A");
  }
  for (const CellIdentity& cell : comparison.only_b) {
    add(names.Name(cell), Outcome::kError, "only in B");
  }
  return JUnitXml("attnbench compare", cases, NotesOn(comparison, names));
}

int CompareExitCode(const Comparison& comparison) {
  if (!comparison.only_a.empty() || !comparison.only_b.empty() ||
      !HaveIntervals(comparison)) {
    return kNothingToCompare;
  }
  if (std::ranges::any_of(comparison.changes, IsWorse) ||
      std::ranges::any_of(comparison.untimed, HasFailed)) {
    return kFailed;
  }
  if (!comparison.a.valid || !comparison.b.valid) return kNotValid;
  return AllAreSlower(comparison) ||
                 std::ranges::any_of(comparison.rows, IsSlower)
             ? kFailed
             : kGood;
}

}  // namespace attnbench
