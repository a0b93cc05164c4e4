#include "harness/runs.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "harness/validity.h"

namespace attnbench {
namespace {

Json WorstOf(const Json& runs, const char* load) {
  Json worst;
  for (const Json& run : runs) {
    const Json& one = run.at(load);
    if (one.is_number() && (worst.is_null() || one > worst)) worst = one;
  }
  return worst;
}

std::string NameOf(const Json& run) {
  return run.contains("file") ? run["file"].get<std::string>()
                              : "run of " + run.at("date").get<std::string>();
}

// The texts of all runs, each once.
std::vector<std::string> TextsOf(const Json& runs, const char* field) {
  std::map<std::string, std::size_t> number;  // of runs that say it
  for (const Json& run : runs) {
    for (const auto& text : run.at(field).get<std::set<std::string>>()) {
      ++number[text];
    }
  }
  std::vector<std::string> texts;
  for (const Json& run : runs) {
    for (const auto& own : run.at(field).get<std::vector<std::string>>()) {
      std::string text =
          number[own] == runs.size() ? own : NameOf(run) + ": " + own;
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) {
        texts.push_back(std::move(text));
      }
    }
  }
  return texts;
}

}  // namespace

Json RunEntry(const Json& context, const Json& cell_limit_s,
              const Json& peer_limit_s) {
  Json run = {{"date", context.at("date")},
              {"command", context.at("command")},
              {"cell_limit_s", cell_limit_s},
              {"peer_limit_s", peer_limit_s}};
  for (const char* name : {"load", "load_end"}) {
    run[name] = context.value(name, Json());
  }
  run["invalid_reasons"] = context.at("invalid_reasons");
  run["warnings"] = context.at("warnings");
  run["points"] = Json::array();
  return run;
}

Json RunsOf(const Json& document) {
  const Json& context = document.at("context");
  if (context.contains("runs")) return context["runs"];
  Json run = RunEntry(context, nullptr, nullptr);
  Json& points = run["points"];
  for (const Json& cell : document.at("cells")) {
    const Json& point = cell.at("point");
    if (points.empty() || points.back() != point) points.push_back(point);
  }
  return Json::array({std::move(run)});
}

void JudgeRuns(const std::string& missing, Json& context) {
  const Json& runs = context.at("runs");
  std::vector<std::string> reasons = TextsOf(runs, "invalid_reasons");
  std::vector<std::string> warnings = TextsOf(runs, "warnings");
  const Json loads[] = {WorstOf(runs, "load"), WorstOf(runs, "load_end")};
  JudgeDrift(context.at("calibration"), reasons, warnings);
  if (!missing.empty()) reasons.push_back(missing);
  context["load"] = loads[0];
  context["load_end"] = loads[1];
  context["valid"] = reasons.empty();
  context["invalid_reasons"] = std::move(reasons);
  context["warnings"] = std::move(warnings);
}

}  // namespace attnbench
