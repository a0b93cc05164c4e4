#include "harness/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "harness/cell_match.h"
#include "harness/exit_code.h"
#include "harness/result_schema.h"

namespace attnbench {
namespace {

Json SideJson(const ResultDocument& result) {
  Json side = {{"path", result.path}};
  for (const char* key : {"commit", "build_id", "date", "cpu", "simd", "valid",
                          "invalid_reasons", "warnings"}) {
    side[key] = result.json.at("context").at(key);
  }
  return side;
}

ProcessSamples LogsOf(const Json& cell) {
  return Logs(SplitProcesses(cell.at("samples_ns").get<std::vector<double>>(),
                             cell.at("processes").get<int>()));
}

Json RowJson(const AxisTable& table, const CellMatch::Pair& pair,
             const Judgement& judgement) {
  Json row = IdentityJson(table, *pair.a);
  row["verdict"] = VerdictName(judgement.verdict);
  row["reason"] = judgement.reason;
  row["ratio"] = judgement.ratio.value;
  const auto& [low, high] = judgement.ratio.interval;
  row["interval"] = std::isfinite(low) && std::isfinite(high)
                        ? Json({low, high})
                        : Json(nullptr);
  for (const auto& [side, cell] : {std::pair("a", pair.a), {"b", pair.b}}) {
    row[std::string(side) + "_ns"] = cell->at("median_ns");
    row[std::string(side) + "_processes"] = cell->at("processes");
  }
  return row;
}

Json IdentitiesJson(const AxisTable& table,
                    const std::vector<const Json*>& cells) {
  Json identities = Json::array();
  for (const Json* cell : cells) {
    identities.push_back(IdentityJson(table, *cell));
  }
  return identities;
}

void AddRows(const AxisTable& table, const CellMatch& match,
             const CompareOptions& options, Json& comparison) {
  std::vector<CellMatch::Pair> timed;
  for (const CellMatch::Pair& pair : match.both) {
    if (IsMeasured(*pair.a) && IsMeasured(*pair.b)) {
      timed.push_back(pair);
      continue;
    }
    Json untimed = IdentityJson(table, *pair.a);
    untimed["a_status"] = pair.a->at("status");
    untimed["b_status"] = pair.b->at("status");
    comparison["untimed"].push_back(untimed);
  }
  comparison["comparisons"] = timed.size();
  std::vector<double> ratios;
  for (const CellMatch::Pair& pair : timed) {
    const Judgement judgement = JudgeChange(
        LogsOf(*pair.a), LogsOf(*pair.b),
        options.level / static_cast<double>(timed.size()), options.margin);
    comparison["rows"].push_back(RowJson(table, pair, judgement));
    ratios.push_back(judgement.ratio.value);
  }
  if (!ratios.empty()) comparison["common_ratio"] = Median(ratios);
}

// ---- for people -------------------------------------------------------------

std::string RowText(const Json& row, const std::string& name) {
  const Json& interval = row.at("interval");
  const std::string span =
      interval.is_null()
          ? "[none]"
          : fmt::format("[{:.3f}, {:.3f}]", interval[0].get<double>(),
                        interval[1].get<double>());
  return fmt::format("{:<10}{:>7.3f} {:<16} {}: {}\n",
                     row.at("verdict").get<std::string>(),
                     row.at("ratio").get<double>(), span, name,
                     row.at("reason").get<std::string>());
}

std::string SummaryText(const Json& comparison) {
  std::map<std::string, int> number;
  for (const Json& row : comparison.at("rows")) {
    ++number[row.at("verdict").get<std::string>()];
  }
  std::string text;
  for (const Verdict verdict : {Verdict::kFaster, Verdict::kSlower,
                                Verdict::kSame, Verdict::kAmbiguous}) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        number[VerdictName(verdict)], VerdictName(verdict));
  }
  text += fmt::format(
      "; at most {:g} for any false FASTER or SLOWER among {}, "
      "margin {:g} %",
      comparison.at("level").get<double>(),
      comparison.at("comparisons").get<int>(),
      100 * comparison.at("margin").get<double>());
  if (!comparison.at("common_ratio").is_null()) {
    text += fmt::format("; all together {:.3f}",
                        comparison.at("common_ratio").get<double>());
  }
  return text + "\n";
}

std::string HeadText(const Json& comparison) {
  std::string text;
  for (const char* side : {"a", "b"}) {
    const Json& of_side = comparison.at(side);
    for (const Json& reason : of_side.at("invalid_reasons")) {
      text += fmt::format("INVALID: {}: {}\n",
                          of_side.at("path").get<std::string>(),
                          reason.get<std::string>());
    }
  }
  for (const Json& difference : comparison.at("differences")) {
    text += fmt::format("differs: {}: {} and {}\n",
                        difference.at("field").get<std::string>(),
                        difference.at("a").dump(), difference.at("b").dump());
  }
  return text;
}

}  // namespace

Json CompareResults(const AxisTable& table, const ResultDocument& a,
                    const ResultDocument& b, const CompareOptions& options) {
  const CellMatch match = MatchCells(table, a.json, b.json);
  Json comparison = {{"schema_version", kSchemaVersion},
                     {"kind", "compare"},
                     {"a", SideJson(a)},
                     {"b", SideJson(b)},
                     {"differences", DifferencesJson(a.json, b.json, "a", "b")},
                     {"level", options.level},
                     {"margin", options.margin},
                     {"comparisons", 0},
                     {"common_ratio", nullptr}};
  comparison["rows"] = Json::array();
  comparison["untimed"] = Json::array();
  AddRows(table, match, options, comparison);
  comparison["changes"] = ChangesJson(table, match, "a", "b");
  comparison["only_a"] = IdentitiesJson(table, match.only_a);
  comparison["only_b"] = IdentitiesJson(table, match.only_b);
  return comparison;
}

std::string CompareText(const AxisTable& table, const Json& comparison) {
  const CellNames names(table, comparison);
  std::string text = HeadText(comparison);
  for (const Json& change : comparison.at("changes")) {
    text += fmt::format("changed: {}: {} {} -> {}\n", names.Name(change),
                        change.at("field").get<std::string>(),
                        change.at("a").dump(), change.at("b").dump());
  }
  if (!comparison.at("rows").empty()) {
    text += fmt::format("{:<10}{:>7} {:<16} cell: reason\n", "verdict", "B / A",
                        "interval");
  }
  for (const Json& row : comparison.at("rows")) {
    text += RowText(row, names.Name(row));
  }
  for (const Json& cell : comparison.at("untimed")) {
    text += fmt::format("no time: {}: {} in A, {} in B\n", names.Name(cell),
                        cell.at("a_status").get<std::string>(),
                        cell.at("b_status").get<std::string>());
  }
  for (const auto& [list, side] :
       {std::pair("only_a", "A"), std::pair("only_b", "B")}) {
    for (const Json& cell : comparison.at(list)) {
      text += fmt::format("only in {}: {}\n", side, names.Name(cell));
    }
  }
  return text + SummaryText(comparison);
}

int CompareExitCode(const Json& comparison) {
  const Json& rows = comparison.at("rows");
  const bool has_intervals = std::any_of(
      rows.begin(), rows.end(),
      [](const Json& row) { return !row.at("interval").is_null(); });
  if (!comparison.at("only_a").empty() || !comparison.at("only_b").empty() ||
      !has_intervals) {
    return kNothingToCompare;
  }
  for (const char* side : {"a", "b"}) {
    if (comparison.at(side).at("valid") == false) return kFailed;
  }
  for (const Json& change : comparison.at("changes")) {
    // A cell that can be measured now is none that got worse.
    if (change.at("field") != "status" || change.at("b") != "ok") {
      return kFailed;
    }
  }
  for (const Json& cell : comparison.at("untimed")) {
    if (IsFailure(cell.at("b_status"))) return kFailed;
  }
  for (const Json& row : rows) {
    if (row.at("verdict") == "SLOWER") return kFailed;
  }
  return kGood;
}

}  // namespace attnbench
