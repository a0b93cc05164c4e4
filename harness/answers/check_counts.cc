#include "harness/answers/check_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "harness/answers/columns.h"
#include "harness/base/printable.h"

namespace attnbench {
namespace {

constexpr char kFewer[] = "FEWER";
constexpr char kSame[] = "SAME";

// Whether a difference of two setups makes their counts those of other code.
// Other `flags` may be the very change that is judged.
bool DecidesCounts(const std::string& field) {
  constexpr std::string_view kFields[] = {
      "compiler", "build_type", "architecture", "cpu",
      "simd",     "libraries",  "loaded",       "environment"};
  return std::ranges::count(kFields, field.substr(0, field.find('.'))) > 0;
}

std::string ChangeText(const CheckedCount& count) {
  return fmt::format("{} -> {} instructions ({:+.2f} %)",
                     CountText(count.baseline), CountText(count.result),
                     100 * count.change);
}

std::vector<CheckedCount> OthersOf(const CountCheck& check) {
  std::vector<CheckedCount> others;
  for (const CheckedCount& count : check.counts) {
    if (count.verdict != kSame) others.push_back(count);
  }
  return others;
}

}  // namespace

std::optional<CountCheck> CheckCounts(
    const CellMatch& match,
    const std::vector<FingerprintDifference>& differences, double slack) {
  CountCheck check{.slack = slack};
  bool has_any = false;
  const char* lacks = nullptr;  // the side where a cell has no count
  for (const CellMatch::Pair& pair : match.both) {
    if (!pair.a->is_ok() || !pair.b->is_ok()) continue;
    const std::optional<double>& before = pair.a->instructions;
    const std::optional<double>& after = pair.b->instructions;
    has_any = has_any || before || after;
    if (before.has_value() != after.has_value()) {
      lacks = before ? "result" : "baseline";
    }
    if (!before || !after) continue;
    const double change = *after / *before - 1;
    check.counts.push_back({*pair.a, *before, *after, change,
                            change > slack    ? kRegressed
                            : change < -slack ? kFewer
                                              : kSame});
  }
  if (!has_any) return {};
  if (lacks != nullptr) {
    check.incomparable.push_back(
        fmt::format("the {} lacks those of {}: run-sweep --measure "
                    "instructions counts them",
                    lacks, check.counts.empty() ? "all cells" : "some cells"));
  }
  for (const FingerprintDifference& one : differences) {
    // A result without counts lacks the version of valgrind, too.
    if (!DecidesCounts(one.field) || check.counts.empty()) continue;
    check.incomparable.push_back(fmt::format("{} was {} and is {}", one.field,
                                             one.a.dump(), one.b.dump()));
  }
  if (!check.incomparable.empty()) check.counts.clear();
  return check;
}

bool HasRegressed(const CountCheck& check) {
  return std::ranges::count(check.counts, kRegressed, &CheckedCount::verdict) >
         0;
}

std::string CountsText(const CountCheck& check, const CellNames& names) {
  std::string text;
  for (const CheckedCount& count : OthersOf(check)) {
    text += fmt::format("{}: {}: {}\n", count.verdict, names.Name(count),
                        ChangeText(count));
  }
  return text;
}

std::vector<std::string> CountNotes(const CountCheck& check,
                                    const CellNames& names) {
  std::vector<std::string> notes;
  for (const std::string& reason : check.incomparable) {
    notes.push_back("instructions cannot be compared: " + reason);
  }
  if (check.counts.empty()) return notes;
  const auto number = [&](const char* verdict) {
    return std::ranges::count(check.counts, verdict, &CheckedCount::verdict);
  };
  const CheckedCount& most = *std::ranges::max_element(
      check.counts, {},
      [](const CheckedCount& count) { return std::abs(count.change); });
  notes.push_back(fmt::format(
      "instructions: {} of {} regressed, {} fewer; the largest change is "
      "{:+.2f} %, of {}; up to {:g} % more is allowed",
      number(kRegressed), Counted(check.counts.size(), "count"), number(kFewer),
      100 * most.change, names.Name(most), 100 * check.slack));
  return notes;
}

std::string CountsMarkdown(const CountCheck& check, const CellNames& names) {
  const std::vector<CheckedCount> others = OthersOf(check);
  if (others.empty()) return "";
  std::string text =
      "\n| cell | verdict | instructions before | after | change |\n"
      "| --- | --- | ---: | ---: | ---: |\n";
  for (const CheckedCount& count : others) {
    text += fmt::format("| {} | {} | {} | {} | {:+.2f} % |\n",
                        MarkdownText(names.Name(count)), count.verdict,
                        CountText(count.baseline), CountText(count.result),
                        100 * count.change);
  }
  return text;
}

std::vector<TestCase> CountCases(const CountCheck& check,
                                 const CellNames& names) {
  std::vector<TestCase> cases;
  for (const std::string& reason : check.incomparable) {
    cases.push_back({"instructions", Outcome::kError, reason});
  }
  for (const CheckedCount& count : check.counts) {
    cases.push_back(
        {names.Name(count) + ": instructions",
         count.verdict == kRegressed ? Outcome::kFailed : Outcome::kPassed,
         fmt::format("{}: {}", count.verdict, ChangeText(count))});
  }
  return cases;
}

}  // namespace attnbench
