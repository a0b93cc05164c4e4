#include "harness/cell_match.h"

#include <fmt/format.h>

#include "harness/fingerprint.h"
#include "harness/result_reader.h"
#include "harness/sums.h"

namespace attnbench {
namespace {

std::map<std::string, const Json*> ByIdentity(const AxisTable& table,
                                              const Json& document) {
  std::map<std::string, const Json*> cells;
  for (const Json& cell : document.at("cells")) {
    cells[CellIdentity(table, cell)] = &cell;
  }
  return cells;
}

}  // namespace

CellMatch MatchCells(const AxisTable& table, const Json& a, const Json& b) {
  const auto of_a = ByIdentity(table, a);
  const auto of_b = ByIdentity(table, b);
  CellMatch match;
  for (const Json& cell : a.at("cells")) {
    const auto found = of_b.find(CellIdentity(table, cell));
    if (found == of_b.end()) {
      match.only_a.push_back(&cell);
    } else {
      match.both.push_back({&cell, found->second});
    }
  }
  for (const Json& cell : b.at("cells")) {
    if (of_a.count(CellIdentity(table, cell)) == 0) {
      match.only_b.push_back(&cell);
    }
  }
  return match;
}

CellNames::CellNames(const AxisTable& table, const Json& document)
    : table_(table) {
  Add(document);
}

void CellNames::Add(const Json& json) {
  if (json.is_object() && json.contains("mechanism")) {
    for (const Axis& axis : table_) {
      if (json.at(axis.name).is_null()) continue;
      axis_values_[axis.name].insert(AxisValueText(json.at(axis.name)));
    }
    const auto mechanism = json.at("mechanism").get<std::string>();
    for (const auto& [option, value] : json.at("options").items()) {
      option_values_[mechanism + " " + option].insert(value.dump());
    }
  }
  if (!json.is_structured()) return;
  for (const Json& member : json) Add(member);
}

std::string CellNames::Name(const Json& cell) const {
  const auto mechanism = cell.at("mechanism").get<std::string>();
  std::string name = mechanism;
  for (const Axis& axis : table_) {
    const Json& value = cell.at(axis.name);
    if (value.is_null() || axis_values_.at(axis.name).size() == 1) continue;
    name += " ";
    if (!axis.letter.empty()) name += axis.letter + "=";
    name += AxisValueText(value);
  }
  for (const auto& [option, value] : cell.at("options").items()) {
    if (option_values_.at(mechanism + " " + option).size() == 1) continue;
    name += fmt::format(" {}={}", option, AxisValueText(value));
  }
  return name;
}

bool IsMeasured(const Json& cell) { return cell.at("status") == "ok"; }

bool IsFailure(const Json& status) {
  return status != "ok" && status != "skipped";
}

Json IdentityJson(const AxisTable& table, const Json& cell) {
  Json identity = {{"mechanism", cell.at("mechanism")}};
  for (const Axis& axis : table) identity[axis.name] = cell.at(axis.name);
  identity["options"] = cell.at("options");
  return identity;
}

std::vector<NumberChange> NumberChanges(const Json& a, const Json& b) {
  if (a.at("status") != b.at("status")) {
    return {{"status", a.at("status"), b.at("status")}};
  }
  if (!IsMeasured(a)) return {};
  std::vector<NumberChange> changes;
  for (const auto& [name, value] : a.at("operations").items()) {
    const Json& other = b.at("operations").at(name);
    if (value != other) changes.push_back({"operations." + name, value, other});
  }
  // Results from before there was such a field do not have it.
  const Json latency = a.value("latency", Json());
  const Json other_latency = b.value("latency", Json());
  if (latency != other_latency) {
    changes.push_back({"latency", latency, other_latency});
  }
  if (a.at("peak_memory_bytes") != b.at("peak_memory_bytes")) {
    changes.push_back({"peak_memory_bytes", a.at("peak_memory_bytes"),
                       b.at("peak_memory_bytes")});
  }
  for (const char* name : kSums) {
    const Json& value = a.at("numerics").at(name);
    const Json& other = b.at("numerics").at(name);
    if (!IsSameSum(a, value, other)) {
      changes.push_back({std::string("numerics.") + name, value, other});
    }
  }
  return changes;
}

Json ChangesJson(const AxisTable& table, const CellMatch& match,
                 const char* a_name, const char* b_name) {
  Json changes = Json::array();
  for (const CellMatch::Pair& pair : match.both) {
    for (const NumberChange& change : NumberChanges(*pair.a, *pair.b)) {
      Json json = IdentityJson(table, *pair.a);
      json["field"] = change.field;
      json[a_name] = change.a;
      json[b_name] = change.b;
      changes.push_back(json);
    }
  }
  return changes;
}

Json DifferencesJson(const Json& a, const Json& b, const char* a_name,
                     const char* b_name) {
  Json differences = Json::array();
  for (const FingerprintDifference& difference :
       FingerprintDifferences(a.at("context"), b.at("context"))) {
    differences.push_back({{"field", difference.field},
                           {a_name, difference.a},
                           {b_name, difference.b}});
  }
  return differences;
}

}  // namespace attnbench
