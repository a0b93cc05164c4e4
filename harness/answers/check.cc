#include "harness/answers/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "harness/answers/columns.h"
#include "harness/answers/junit.h"
#include "harness/base/error.h"
#include "harness/base/exit_code.h"
#include "harness/base/printable.h"
#include "harness/results/summary.h"

namespace attnbench {
namespace {

// Only a cell with numbers on both sides has more to compare than its status.
bool IsCompared(const CellMatch::Pair& pair) {
  return pair.a->is_ok() && pair.b->is_ok();
}

// Says why the cell has no ratio. It is empty if the cell and the first one of
// its group were timed in the same rounds in both documents (a is the
// baseline).
std::string WhyNoRatio(const CellMatch::Pair& cell,
                       const CellMatch::Pair& reference) {
  if (GroupOf(*cell.b) != GroupOf(*reference.b)) {
    return "the result has it in another point than the first timed cell of "
           "its point";
  }
  if (!HaveSameRounds(*cell.a, *reference.a) ||
      !HaveSameRounds(*cell.b, *reference.b)) {
    return "its rounds are others than those of the first timed cell of its "
           "point";
  }
  return "";
}

struct RatioPair {
  CellMatch::Pair cell;
  CellMatch::Pair reference;
};

struct Ratios {
  std::vector<RatioPair> pairs;
  // Cells of the baseline that are timed in both documents but in no pair, and
  // why.
  std::vector<std::pair<const ResultCell*, std::string>> left_out;
};

// Pairs each timed cell with the first timed one of its group.
Ratios RatiosOf(const CellMatch& match) {
  struct Reference {
    CellMatch::Pair cell;
    bool has_ratio = false;
  };
  Ratios ratios;
  std::map<std::string, Reference> references;
  for (const CellMatch::Pair& pair : match.both) {
    if (!IsCompared(pair)) continue;
    const auto [found, is_first] =
        references.try_emplace(GroupOf(*pair.a), Reference{pair});
    if (is_first) continue;
    Reference& reference = found->second;
    std::string why = WhyNoRatio(pair, reference.cell);
    if (why.empty()) {
      ratios.pairs.push_back({pair, reference.cell});
      reference.has_ratio = true;
    } else {
      ratios.left_out.emplace_back(pair.a, std::move(why));
    }
  }
  for (const auto& [group, reference] : references) {
    if (reference.has_ratio) continue;
    ratios.left_out.emplace_back(
        reference.cell.a,
        "no other cell of its point, mode, scope, precision and threads was "
        "timed with it");
  }
  return ratios;
}

// A ratio of two cells in each of two runs.
struct TwoRuns {
  const Effects& effects;
  bool same_program = false;
};

CheckedRatio RatioOf(const RatioPair& pair, const TwoRuns& runs, double miss,
                     double margin) {
  const auto center = [](const ResultCell& cell, const ResultCell& reference) {
    return CenterOf(PairedLogRatios(SamplesOf(cell), SamplesOf(reference)),
                    cell.builds);
  };
  const Center before = center(*pair.cell.a, *pair.reference.a);
  const Center after = center(*pair.cell.b, *pair.reference.b);
  const Effect& effect = IsPeers(*pair.cell.a) == IsPeers(*pair.reference.a)
                             ? runs.effects.ratio
                             : runs.effects.peer;
  const Change change =
      ChangeOf({after.value - before.value,
                {before.variance, after.variance},
                effect.Parts(HiddenIn(pair.cell, runs.same_program))},
               miss, margin);
  const Interval& interval = change.ratio.interval;
  const bool regressed = interval.low > 1 + margin;
  CheckedRatio ratio{static_cast<const CellIdentity&>(*pair.cell.a)};
  ratio.reference = *pair.reference.a;
  ratio.baseline_ratio = std::exp(before.value);
  ratio.result_ratio = std::exp(after.value);
  ratio.change = change.ratio.value;
  ratio.interval = Finite(interval);
  ratio.verdict = regressed ? kRegressed : ChangeName(change.kind);
  ratio.reason =
      regressed ? fmt::format("the interval lies beyond {:g} %", 100 * margin)
                : change.reason;
  return ratio;
}

// The ratios of one group to its first cell; only those with an interval count.
struct GroupRatios {
  const ResultCell* reference = nullptr;
  std::size_t count = 0;
  std::size_t fell = 0;  // intervals below 1 by more than the margin
};

// A first cell that got slower makes its rivals look faster: it has regressed
// if most of the ratios to it fell. Ratios cannot tell whether all these rivals
// got faster instead, so that fails, too.
bool HasRegressed(const GroupRatios& group) {
  return 2 * group.fell > group.count;
}

TimeCheck CheckTimes(const CellMatch& match, const ReadSweep& baseline,
                     const ReadSweep& result, const CheckOptions& options) {
  const auto& [pairs, cells_left_out] = RatiosOf(match);
  TimeCheck time{.level = options.level, .margin = options.margin};
  for (const auto& [cell, why] : cells_left_out) {
    time.left_out.push_back({*cell, why});
  }
  const TwoRuns runs = {options.effects, baseline.result.context.build_id ==
                                             result.result.context.build_id};
  std::map<std::string, GroupRatios> groups;
  for (const RatioPair& pair : pairs) {
    GroupRatios& group = groups[GroupOf(*pair.reference.a)];
    group.reference = pair.reference.a;
    CheckedRatio ratio =
        RatioOf(pair, runs, options.level / static_cast<double>(pairs.size()),
                options.margin);
    // A ratio without an interval cannot be a regression, whatever the time
    // did.
    if (!ratio.interval) {
      time.left_out.push_back({*pair.cell.a, ratio.reason});
      continue;
    }
    ++group.count;
    if (ratio.interval->high < 1 / (1 + options.margin)) ++group.fell;
    time.ratios.push_back(std::move(ratio));
  }
  for (const auto& [name, group] : groups) {
    if (group.count == 0) {
      time.left_out.push_back(
          {*group.reference, "no ratio to it has an interval"});
    } else if (HasRegressed(group)) {
      time.slower_references.push_back(
          {*group.reference, group.fell, group.count});
    }
  }
  for (const ReadSweep* side : {&baseline, &result}) {
    for (const std::string& reason : side->result.context.invalid_reasons) {
      time.invalid_reasons.push_back(side->path + ": " + reason);
    }
    for (const std::string& warning : side->result.context.warnings) {
      time.warnings.push_back(side->path + ": " + warning);
    }
  }
  return time;
}

// Refuses results of one name of a workload whose file held other inputs.
void CheckWorkloadFiles(const ReadSweep& baseline, const ReadSweep& result) {
  for (const WorkloadFile& before : baseline.result.context.workload_files) {
    for (const WorkloadFile& now : result.result.context.workload_files) {
      if (now.workload != before.workload || now.hash == before.hash) continue;
      throw UserError(
          result.path,
          fmt::format("workload {} held other inputs than in {} (hash {}, not "
                      "{}); measure one of them again",
                      now.workload, baseline.path, now.hash, before.hash));
    }
  }
}

// ---- for people -------------------------------------------------------------

CellNames NamesIn(const CheckReport& check) {
  CellNames names;
  names.AddAll(check.changes);
  names.AddAll(check.failed);
  names.AddAll(check.missing);
  names.AddAll(check.added);
  if (check.instructions) names.AddAll(check.instructions->counts);
  if (!check.time) return names;
  names.AddAll(check.time->ratios);
  for (const CheckedRatio& ratio : check.time->ratios) {
    names.Add(ratio.reference);
  }
  names.AddAll(check.time->slower_references);
  names.AddAll(check.time->left_out);
  return names;
}

using Lines = std::vector<std::string>;

std::string FellText(const SlowerReference& cell, const TimeCheck& time) {
  return fmt::format(
      "{} of {} ratios to it fell beyond {:g} %: it got slower, or they all "
      "got faster",
      cell.fell, cell.ratios, 100 * time.margin);
}

bool IsRegressed(const CheckedRatio& ratio) {
  return ratio.verdict == kRegressed;
}

// What stands above the ratios.
Lines HeadLines(const CheckReport& check, const CellNames& names) {
  if (!check.baseline_cells) {
    return {check.baseline + ": there is no baseline; --update makes one"};
  }
  Lines lines;
  if (check.time) {
    for (const std::string& reason : check.time->invalid_reasons) {
      lines.push_back("INVALID: " + reason);
    }
    for (const std::string& warning : check.time->warnings) {
      lines.push_back("warning: " + warning);
    }
  }
  for (const CheckedSetup& one : check.differences) {
    lines.push_back(fmt::format("differs: {}: {} and {}", one.field,
                                one.a.dump(), one.b.dump()));
  }
  for (const CheckedNumber& change : check.changes) {
    lines.push_back(fmt::format("changed: {}: {} {} -> {}", names.Name(change),
                                change.field, change.a.dump(),
                                change.b.dump()));
  }
  for (const FailedNow& cell : check.failed) {
    lines.push_back(
        fmt::format("failed: {}: {}", names.Name(cell), NameOf(cell.status)));
  }
  for (const CellIdentity& cell : check.missing) {
    lines.push_back("missing: " + names.Name(cell));
  }
  for (const CellIdentity& cell : check.added) {
    lines.push_back("not in the baseline: " + names.Name(cell));
  }
  if (!check.time) return lines;
  for (const LeftOut& cell : check.time->left_out) {
    lines.push_back(
        fmt::format("no ratio: {}: {}", names.Name(cell), cell.reason));
  }
  return lines;
}

const std::vector<CheckedRatio>& RatiosIn(const CheckReport& check) {
  static const std::vector<CheckedRatio> kNone;
  return check.time ? check.time->ratios : kNone;
}

// What stands below the ratios.
Lines FootLines(const CheckReport& check, const CellNames& names) {
  Lines lines;
  if (!check.baseline_cells) return lines;
  if (check.instructions) lines = CountNotes(*check.instructions, names);
  if (check.time) {
    for (const SlowerReference& cell : check.time->slower_references) {
      lines.push_back(fmt::format("{}: {}: {}", kRegressed, names.Name(cell),
                                  FellText(cell, *check.time)));
    }
    lines.push_back(fmt::format(
        "{} of {} regressed, {} {} none; {} regressed against most others",
        std::ranges::count_if(check.time->ratios, IsRegressed),
        Counted(check.time->ratios.size(), "ratio"),
        Counted(check.time->left_out.size(), "cell"),
        check.time->left_out.size() == 1 ? "has" : "have",
        Counted(check.time->slower_references.size(), "first cell")));
  }
  std::set<std::string> changed;
  for (const CheckedNumber& change : check.changes) {
    changed.insert(static_cast<const CellIdentity&>(change).Key());
  }
  lines.push_back(fmt::format(
      "{}: {} of {} cells compared, {} changed, {} missing, {} not in the "
      "baseline, {} not measured",
      check.baseline, check.compared, *check.baseline_cells, changed.size(),
      check.missing.size(), check.added.size(), check.unmeasured));
  return lines;
}

TestNotes NotesOn(const CheckReport& check, const CellNames& names) {
  Lines lines = HeadLines(check, names);
  std::ranges::copy(FootLines(check, names), std::back_inserter(lines));
  return NotesOn(std::move(lines), check.differences);
}

}  // namespace

CheckReport CheckAgainst(const std::optional<ReadSweep>& baseline,
                         const std::string& baseline_path,
                         const ReadSweep& result, const CheckOptions& options) {
  if (baseline) CheckWorkloadFiles(*baseline, result);
  CheckReport check;
  check.baseline = baseline_path;
  check.result = result.path;
  if (!baseline) return check;
  check.baseline_cells = baseline->result.cells.size();
  const auto differences =
      FingerprintDifferences(baseline->result.context, result.result.context);
  for (const auto& one : differences) check.differences.push_back({one});
  const CellMatch match = MatchCells(baseline->result, result.result);
  for (const CellMatch::Pair& pair : match.both) {
    ++(IsCompared(pair) ? check.compared : check.unmeasured);
    for (NumberChange& change : NumberChanges(*pair.a, *pair.b)) {
      check.changes.push_back({*pair.a, std::move(change)});
    }
    if (IsFailure(pair.b->status)) {
      check.failed.push_back({*pair.b, pair.b->status});
    }
  }
  for (const ResultCell* cell : match.only_a) check.missing.push_back(*cell);
  for (const ResultCell* cell : match.only_b) check.added.push_back(*cell);
  check.instructions = CheckCounts(match, differences, options.slack);
  if (options.time) check.time = CheckTimes(match, *baseline, result, options);
  return check;
}

std::string CheckText(const CheckReport& check) {
  const CellNames names = NamesIn(check);
  std::string text;
  for (const std::string& line : HeadLines(check, names)) text += line + "\n";
  if (check.instructions) text += CountsText(*check.instructions, names);
  for (const CheckedRatio& ratio : RatiosIn(check)) {
    text += fmt::format("{}: {} / {}: {} -> {}: {}\n", ratio.verdict,
                        names.Name(ratio), names.Name(ratio.reference),
                        FactorText(ratio.baseline_ratio),
                        FactorText(ratio.result_ratio), ratio.reason);
  }
  for (const std::string& line : FootLines(check, names)) text += line + "\n";
  return text;
}

std::string CheckMarkdown(const CheckReport& check) {
  const CellNames names = NamesIn(check);
  std::string text;
  for (const std::string& line : HeadLines(check, names)) {
    text += "- " + MarkdownText(line) + "\n";
  }
  if (check.instructions) text += CountsMarkdown(*check.instructions, names);
  if (!RatiosIn(check).empty()) {
    text +=
        "\n| cell | over | verdict | baseline | result | reason |\n"
        "| --- | --- | --- | ---: | ---: | --- |\n";
  }
  for (const CheckedRatio& ratio : RatiosIn(check)) {
    text += fmt::format(
        "| {} | {} | {} | {} | {} | {} |\n", MarkdownText(names.Name(ratio)),
        MarkdownText(names.Name(ratio.reference)), ratio.verdict,
        FactorText(ratio.baseline_ratio), FactorText(ratio.result_ratio),
        MarkdownText(ratio.reason));
  }
  text += "\n";
  for (const std::string& line : FootLines(check, names)) {
    text += "- " + MarkdownText(line) + "\n";
  }
  return text;
}

std::string CheckJUnit(const CheckReport& check) {
  const CellNames names = NamesIn(check);
  std::vector<TestCase> cases;
  const auto add = [&](std::string name, Outcome outcome, std::string message) {
    cases.push_back({std::move(name), outcome, std::move(message)});
  };
  if (check.compared == 0) {
    add("cells", Outcome::kError,
        check.baseline_cells ? "none could be compared with the baseline"
                             : HeadLines(check, names).front());
  } else {
    add(Counted(check.compared, "cell") + " compared", Outcome::kPassed, "");
  }
  for (const CheckedNumber& change : check.changes) {
    add(names.Name(change) + ": " + change.field, Outcome::kFailed,
        change.a.dump() + " -> " + change.b.dump());
  }
  for (const FailedNow& cell : check.failed) {
    add(names.Name(cell), Outcome::kFailed, NameOf(cell.status));
  }
  for (const CellIdentity& cell : check.missing) {
    add(names.Name(cell), Outcome::kError, "missing in the result");
  }
  for (const CellIdentity& cell : check.added) {
    add(names.Name(cell), Outcome::kError, "not in the baseline");
  }
  const TestNotes notes = NotesOn(check, names);
  if (check.instructions) {
    for (TestCase& one : CountCases(*check.instructions, names)) {
      cases.push_back(std::move(one));
    }
  }
  if (!check.time) return JUnitXml("attnbench check", cases, notes);
  for (const std::string& reason : check.time->invalid_reasons) {
    add("valid", Outcome::kError, reason);
  }
  for (const LeftOut& cell : check.time->left_out) {
    add(names.Name(cell) + ": ratio", Outcome::kError, cell.reason);
  }
  for (const CheckedRatio& ratio : check.time->ratios) {
    add(names.Name(ratio) + " / " + names.Name(ratio.reference),
        IsRegressed(ratio) ? Outcome::kFailed : Outcome::kPassed,
        fmt::format("{}: {} -> {}: {}", ratio.verdict,
                    FactorText(ratio.baseline_ratio),
                    FactorText(ratio.result_ratio), ratio.reason));
  }
  for (const SlowerReference& cell : check.time->slower_references) {
    add(names.Name(cell), Outcome::kFailed, FellText(cell, *check.time));
  }
  return JUnitXml("attnbench check", cases, notes);
}

int CheckExitCode(const CheckReport& check) {
  if (check.compared == 0 || !check.missing.empty() || !check.added.empty() ||
      (check.time && !check.time->left_out.empty()) ||
      (check.instructions && !check.instructions->incomparable.empty())) {
    return kNothingToCompare;
  }
  if (!check.changes.empty() || !check.failed.empty() ||
      (check.instructions && HasRegressed(*check.instructions))) {
    return kFailed;
  }
  if (!check.time) return kGood;
  if (!check.time->invalid_reasons.empty()) return kNotValid;
  return !check.time->slower_references.empty() ||
                 std::ranges::any_of(check.time->ratios, IsRegressed)
             ? kFailed
             : kGood;
}

std::string WhyNoBaseline(const SweepResult& result) {
  const SweepContext& context = result.context;
  if (!context.valid) {
    return "it is not valid: " + context.invalid_reasons.at(0);
  }
  std::set<std::string> points_there;
  bool is_measured = false;
  for (const ResultCell& cell : result.cells) {
    if (IsFailure(cell.status)) {
      return fmt::format("a cell of {} is {}: {}", cell.mechanism,
                         NameOf(cell.status),
                         Shortened(cell.message.value_or("-")));
    }
    if (cell.instructions) {
      return "it has counts of instructions, which hold for one compiler, its "
             "libraries and one SIMD level; measure without --measure "
             "instructions";
    }
    is_measured = is_measured || cell.is_ok();
    points_there.insert(cell.point);
  }
  const std::set<std::string> points(context.points.begin(),
                                     context.points.end());
  if (points_there.empty()) return "it has no cells";
  if (!is_measured) return "no cell of it was measured";
  if (points_there != points) {
    return fmt::format("it has {} of the {} points of its sweep",
                       points_there.size(), points.size());
  }
  return "";
}

}  // namespace attnbench
