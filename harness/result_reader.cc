#include "harness/result_reader.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <vector>

#include "harness/error.h"
#include "harness/json_file.h"
#include "harness/result_schema.h"
#include "harness/schema_check.h"

namespace attnbench {

void CheckSamples(const Json& cell, const std::string& list,
                  const std::string& where) {
  const auto samples = cell.at(list).get<std::vector<double>>();
  const auto processes = cell.at("processes").get<std::size_t>();
  if (samples.size() % processes != 0) {
    throw UserError(where, fmt::format("{} has {} samples of {} processes: "
                                       "not equally many of each",
                                       list, samples.size(), processes));
  }
  for (const double sample : samples) {
    if (!(sample > 0)) {
      throw UserError(
          where, fmt::format("{} has {}, above 0 is wanted", list, sample));
    }
  }
}

std::string CellIdentity(const AxisTable& table, const Json& cell) {
  // Not = {...}: to clang that is a copy, no list.
  Json identity = Json::array({cell.at("mechanism")});
  for (const Axis& axis : table) identity.push_back(cell.at(axis.name));
  // Sorted: their order in a file means nothing.
  std::map<std::string, Json> options;
  for (const auto& [name, value] : cell.at("options").items()) {
    options[name] = value;
  }
  identity.push_back(options);
  return identity.dump();
}

void CheckResult(const AxisTable& table, const ResultDocument& result) {
  const Json& document = result.json;
  if (!document.is_object() || !document.contains("kind")) {
    throw UserError(result.path, "is no result: kind is missing");
  }
  if (document.at("kind") != "sweep") {
    throw UserError(result.path, fmt::format("is of kind {}, 'sweep' is wanted",
                                             document.at("kind").dump()));
  }
  CheckSchema(ResultSchema(table), "results/schema/sweep.schema.json", document,
              result.path);
  const auto points =
      document.at("context").at("points").get<std::set<std::string>>();
  std::set<std::string> identities;
  const Json& cells = document.at("cells");
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string where = fmt::format("{}: cells[{}]", result.path, i);
    CheckSamples(cells[i], "samples_ns", where);
    if (!identities.insert(CellIdentity(table, cells[i])).second) {
      throw UserError(where, "is there twice");
    }
    if (points.count(cells[i].at("point").get<std::string>()) == 0) {
      throw UserError(where, "its point is none of context.points");
    }
  }
}

ResultDocument ReadResult(const AxisTable& table, const std::string& path) {
  ResultDocument result{path, ReadJsonFile(path)};
  CheckResult(table, result);
  return result;
}

}  // namespace attnbench
