#include "harness/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "harness/cell_match.h"
#include "harness/exit_code.h"
#include "harness/result_schema.h"

namespace attnbench {
namespace {

constexpr char kRegressed[] = "REGRESSED";

// Where a side has no numbers there is nothing to compare but the status.
bool IsCompared(const CellMatch::Pair& pair) {
  return IsMeasured(*pair.a) && IsMeasured(*pair.b);
}

// Cells that are compared with each other: of one point, the same thing.
std::string GroupOf(const Json& cell) {
  Json group;
  for (const char* key : {"point", "mode", "scope", "precision", "threads"}) {
    group.push_back(cell.at(key));
  }
  return group.dump();
}

ProcessSamples SamplesOf(const Json& cell) {
  return SplitProcesses(cell.at("samples_ns").get<std::vector<double>>(),
                        cell.at("processes").get<int>());
}

bool HaveSameRounds(const Json& a, const Json& b) {
  return a.at("processes") == b.at("processes") &&
         a.at("samples_ns").size() == b.at("samples_ns").size();
}

// Empty where the cell and the first one of its group, a for baseline, were
// timed in the same rounds of both documents.
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
  // Of the baseline: cells that are timed in both but in no pair, and why.
  std::vector<std::pair<const Json*, std::string>> left_out;
};

// Each timed cell with the first timed one of its group.
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

Json RatioJson(const AxisTable& table, const RatioPair& pair, double miss,
               double margin) {
  const auto logs = [](const Json& cell, const Json& reference) {
    return PairedLogRatios(SamplesOf(cell), SamplesOf(reference));
  };
  const ProcessSamples before = logs(*pair.cell.a, *pair.reference.a);
  const ProcessSamples after = logs(*pair.cell.b, *pair.reference.b);
  const Judgement judgement = JudgeChange(before, after, miss, margin);
  const Interval& interval = judgement.ratio.interval;
  const bool regressed = interval.low > 1 + margin;
  Json json = IdentityJson(table, *pair.cell.a);
  json["reference"] = IdentityJson(table, *pair.reference.a);
  json["baseline_ratio"] = Exp(Center(before, miss)).value;
  json["result_ratio"] = Exp(Center(after, miss)).value;
  json["change"] = judgement.ratio.value;
  json["interval"] = interval.low > 0 && std::isfinite(interval.high)
                         ? Json({interval.low, interval.high})
                         : Json(nullptr);
  json["verdict"] = regressed ? kRegressed : VerdictName(judgement.verdict);
  json["reason"] =
      regressed ? fmt::format("the interval lies beyond {:g} %", 100 * margin)
                : judgement.reason;
  return json;
}

// Of one group, to its first cell; those that have an interval.
struct GroupRatios {
  const Json* reference = nullptr;
  std::size_t count = 0;
  std::size_t fell = 0;  // the interval lies below 1 by more than the margin
};

// A first cell that got slower makes its rivals look faster: it is judged by
// the median of the ratios to it, which has moved where most have. Whether all
// these rivals got faster instead no ratio can tell, so that fails, too.
bool HasRegressed(const GroupRatios& group) {
  return 2 * group.fell > group.count;
}

Json TimeJson(const AxisTable& table, const CellMatch& match,
              const ResultDocument& baseline, const ResultDocument& result,
              const CheckOptions& options) {
  const auto& [pairs, cells_left_out] = RatiosOf(match);
  Json ratios = Json::array();
  Json left_out = Json::array();
  const auto leave_out = [&](const Json& cell, const std::string& why) {
    left_out.push_back(IdentityJson(table, cell));
    left_out.back()["reason"] = why;
  };
  for (const auto& [cell, why] : cells_left_out) leave_out(*cell, why);
  std::map<std::string, GroupRatios> groups;
  for (const RatioPair& pair : pairs) {
    GroupRatios& group = groups[GroupOf(*pair.reference.a)];
    group.reference = pair.reference.a;
    Json ratio = RatioJson(table, pair,
                           options.level / static_cast<double>(pairs.size()),
                           options.margin);
    // What has no interval can be no regression, whatever the time did.
    if (ratio.at("interval").is_null()) {
      leave_out(*pair.cell.a, ratio.at("reason").get<std::string>());
      continue;
    }
    ++group.count;
    if (ratio.at("interval")[1] < 1 / (1 + options.margin)) ++group.fell;
    ratios.push_back(std::move(ratio));
  }
  Json slower = Json::array();
  for (const auto& [name, group] : groups) {
    if (group.count == 0) {
      leave_out(*group.reference, "no ratio to it has an interval");
    } else if (HasRegressed(group)) {
      slower.push_back(IdentityJson(table, *group.reference));
      slower.back()["fell"] = group.fell;
      slower.back()["ratios"] = group.count;
    }
  }
  Json invalid = Json::array();
  for (const ResultDocument* document : {&baseline, &result}) {
    for (const Json& reason :
         document->json.at("context").at("invalid_reasons")) {
      invalid.push_back(document->path + ": " + reason.get<std::string>());
    }
  }
  return {{"level", options.level},      {"margin", options.margin},
          {"invalid_reasons", invalid},  {"ratios", ratios},
          {"slower_references", slower}, {"left_out", left_out}};
}

// ---- for people -------------------------------------------------------------

std::string RatiosText(const CellNames& names, const Json& time) {
  std::string text;
  for (const Json& cell : time.at("left_out")) {
    text += fmt::format("no ratio: {}: {}\n", names.Name(cell),
                        cell.at("reason").get<std::string>());
  }
  const Json& ratios = time.at("ratios");
  int regressed = 0;
  for (const Json& ratio : ratios) {
    const auto verdict = ratio.at("verdict").get<std::string>();
    regressed += verdict == kRegressed ? 1 : 0;
    text += fmt::format("{}: {} / {}: {:.3f} -> {:.3f}: {}\n", verdict,
                        names.Name(ratio), names.Name(ratio.at("reference")),
                        ratio.at("baseline_ratio").get<double>(),
                        ratio.at("result_ratio").get<double>(),
                        ratio.at("reason").get<std::string>());
  }
  for (const Json& cell : time.at("slower_references")) {
    text += fmt::format(
        "{}: {}: {} of {} ratios to it fell beyond {:g} %: it got slower, or "
        "they all got faster\n",
        kRegressed, names.Name(cell), cell.at("fell").get<std::size_t>(),
        cell.at("ratios").get<std::size_t>(),
        100 * time.at("margin").get<double>());
  }
  return text +
         fmt::format(
             "{} of {} ratios regressed, {} cells have none; {} first cells "
             "regressed against most of their point\n",
             regressed, ratios.size(), time.at("left_out").size(),
             time.at("slower_references").size());
}

}  // namespace

Json CheckAgainst(const AxisTable& table,
                  const std::optional<ResultDocument>& baseline,
                  const std::string& baseline_path,
                  const ResultDocument& result, const CheckOptions& options) {
  Json check = {{"schema_version", kSchemaVersion},
                {"kind", "check"},
                {"baseline", baseline_path},
                {"result", result.path},
                {"baseline_cells", nullptr},
                {"compared", 0},
                {"unmeasured", 0}};
  for (const char* list :
       {"differences", "changes", "failed", "missing", "added"}) {
    check[list] = Json::array();
  }
  check["time"] = nullptr;
  if (!baseline) return check;
  check["baseline_cells"] = baseline->json.at("cells").size();
  check["differences"] =
      DifferencesJson(baseline->json, result.json, "baseline", "result");
  const CellMatch match = MatchCells(table, baseline->json, result.json);
  const auto compared =
      std::count_if(match.both.begin(), match.both.end(), IsCompared);
  check["compared"] = compared;
  check["unmeasured"] = match.both.size() - static_cast<std::size_t>(compared);
  check["changes"] = ChangesJson(table, match, "baseline", "result");
  for (const CellMatch::Pair& pair : match.both) {
    if (!IsFailure(pair.b->at("status"))) continue;
    check["failed"].push_back(IdentityJson(table, *pair.b));
    check["failed"].back()["status"] = pair.b->at("status");
  }
  for (const Json* cell : match.only_a) {
    check["missing"].push_back(IdentityJson(table, *cell));
  }
  for (const Json* cell : match.only_b) {
    check["added"].push_back(IdentityJson(table, *cell));
  }
  if (options.time) {
    check["time"] = TimeJson(table, match, *baseline, result, options);
  }
  return check;
}

std::string CheckText(const AxisTable& table, const Json& check) {
  const auto path = check.at("baseline").get<std::string>();
  if (check.at("baseline_cells").is_null()) {
    return fmt::format("{}: there is no baseline; --update makes one\n", path);
  }
  const CellNames names(table, check);
  std::string text;
  const Json& time = check.at("time");
  if (!time.is_null()) {
    for (const Json& reason : time.at("invalid_reasons")) {
      text += fmt::format("INVALID: {}\n", reason.get<std::string>());
    }
  }
  for (const Json& difference : check.at("differences")) {
    text += fmt::format(
        "differs: {}: {} and {}\n", difference.at("field").get<std::string>(),
        difference.at("baseline").dump(), difference.at("result").dump());
  }
  std::set<std::string> changed;
  for (const Json& change : check.at("changes")) {
    changed.insert(CellIdentity(table, change));
    text +=
        fmt::format("changed: {}: {} {} -> {}\n", names.Name(change),
                    change.at("field").get<std::string>(),
                    change.at("baseline").dump(), change.at("result").dump());
  }
  for (const Json& cell : check.at("failed")) {
    text += fmt::format("failed: {}: {}\n", names.Name(cell),
                        cell.at("status").get<std::string>());
  }
  for (const Json& cell : check.at("missing")) {
    text += fmt::format("missing: {}\n", names.Name(cell));
  }
  for (const Json& cell : check.at("added")) {
    text += fmt::format("not in the baseline: {}\n", names.Name(cell));
  }
  if (!time.is_null()) text += RatiosText(names, time);
  return text + fmt::format(
                    "{}: {} of {} cells compared, {} changed, {} missing, {} "
                    "not in the baseline, {} not measured\n",
                    path, check.at("compared").get<std::size_t>(),
                    check.at("baseline_cells").get<std::size_t>(),
                    changed.size(), check.at("missing").size(),
                    check.at("added").size(),
                    check.at("unmeasured").get<std::size_t>());
}

int CheckExitCode(const Json& check) {
  const Json& time = check.at("time");
  if (check.at("compared") == 0 || !check.at("missing").empty() ||
      !check.at("added").empty() ||
      (!time.is_null() && !time.at("left_out").empty())) {
    return kNothingToCompare;
  }
  if (!check.at("changes").empty() || !check.at("failed").empty()) {
    return kFailed;
  }
  if (time.is_null()) return kGood;
  if (!time.at("invalid_reasons").empty() ||
      !time.at("slower_references").empty()) {
    return kFailed;
  }
  for (const Json& ratio : time.at("ratios")) {
    if (ratio.at("verdict") == kRegressed) return kFailed;
  }
  return kGood;
}

std::string WhyNoBaseline(const ResultDocument& result) {
  const Json& context = result.json.at("context");
  if (context.at("valid") == false) {
    const Json& reasons = context.at("invalid_reasons");
    return "it is not valid: " + (reasons.empty()
                                      ? "no reason is given"
                                      : reasons[0].get<std::string>());
  }
  std::set<std::string> points_there;
  bool is_measured = false;
  for (const Json& cell : result.json.at("cells")) {
    const auto status = cell.at("status").get<std::string>();
    if (IsFailure(status)) {
      return fmt::format("a cell of {} is {}: {}",
                         cell.at("mechanism").get<std::string>(), status,
                         AxisValueText(cell.at("message")));
    }
    is_measured = is_measured || IsMeasured(cell);
    points_there.insert(cell.at("point").get<std::string>());
  }
  const auto points = context.at("points").get<std::set<std::string>>();
  if (points_there.empty()) return "it has no cells";
  if (!is_measured) return "no cell of it was measured";
  if (points_there != points) {
    return fmt::format("it has {} of the {} points of its sweep",
                       points_there.size(), points.size());
  }
  return "";
}

}  // namespace attnbench
