#include "harness/result_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 sees overlapping copies in every `"text" + string` that it inlines
// (its bug 105651), here in valijson's.
#pragma GCC diagnostic ignored "-Wrestrict"
#endif
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "harness/error.h"
#include "harness/json_file.h"
#include "harness/result_schema.h"

namespace attnbench {
namespace {

// "cells[3].samples_ns" of "<root>", "[cells]", "[3]", "[samples_ns]".
std::string PlaceText(const std::vector<std::string>& context) {
  std::string place;
  for (std::size_t i = 1; i < context.size(); ++i) {
    const std::string name = context[i].substr(1, context[i].size() - 2);
    const bool is_index =
        !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
          return c >= '0' && c <= '9';
        });
    if (is_index) {
      place += "[" + name + "]";
    } else {
      place += (place.empty() ? "" : ".") + name;
    }
  }
  return place;
}

// The innermost of the errors, the last of several: those around it only
// repeat that it is there, those before it that a condition was not met.
void CheckSchema(const AxisTable& table, const ResultDocument& result) {
  // The validator reads the library's unordered documents.
  const auto schema_json = nlohmann::json::parse(ResultSchemaText(table));
  const auto document = nlohmann::json::parse(result.json.dump());
  valijson::Schema schema;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_json),
                      schema);
  valijson::ValidationResults errors;
  if (valijson::Validator(valijson::Validator::kStrongTypes)
          .validate(schema, valijson::adapters::NlohmannJsonAdapter(document),
                    &errors)) {
    return;
  }
  auto innermost = errors.begin();
  for (auto error = errors.begin(); error != errors.end(); ++error) {
    if (error->context.size() >= innermost->context.size()) innermost = error;
  }
  const std::string place = PlaceText(innermost->context);
  throw UserError(result.path + (place.empty() ? "" : ": " + place),
                  "is not as results/schema/sweep.schema.json wants it: " +
                      innermost->description);
}

void CheckSamples(const Json& cell, const std::string& where) {
  const auto samples = cell.at("samples_ns").get<std::vector<double>>();
  const auto processes = cell.at("processes").get<std::size_t>();
  if (samples.size() % processes != 0) {
    throw UserError(where, fmt::format("samples_ns has {} samples of {} "
                                       "processes: not equally many of each",
                                       samples.size(), processes));
  }
  for (const double sample : samples) {
    if (!(sample > 0)) {
      throw UserError(
          where, fmt::format("samples_ns has {}, above 0 is wanted", sample));
    }
  }
}

}  // namespace

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
  CheckSchema(table, result);
  const auto points =
      document.at("context").at("points").get<std::set<std::string>>();
  std::set<std::string> identities;
  const Json& cells = document.at("cells");
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string where = fmt::format("{}: cells[{}]", result.path, i);
    CheckSamples(cells[i], where);
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
