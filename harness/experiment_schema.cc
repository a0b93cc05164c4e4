#include "harness/experiment_schema.h"

#include <fmt/format.h>

#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/json_schema.h"
#include "harness/sweep.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

using json_schema::ListOf;

// An object of which nothing but `required` has to be there.
Json Members(Json properties, const std::vector<std::string>& required = {}) {
  Json object = {{"type", "object"},
                 {"properties", std::move(properties)},
                 {"additionalProperties", false}};
  if (!required.empty()) object["required"] = required;
  return object;
}

Json Described(Json schema, const std::string& description) {
  schema["description"] = description;
  return schema;
}

Json WholeNumber(std::int64_t least, std::int64_t greatest) {
  return {{"type", "integer"}, {"minimum", least}, {"maximum", greatest}};
}

Json NonEmptyList(Json items) {
  Json list = ListOf(std::move(items));
  list["minItems"] = 1;
  return list;
}

Json ValueOrList(const Json& value) {
  return {{"anyOf", {value, NonEmptyList(value)}}};
}

// Text of which each part between commas is one of the patterns.
Json TextOf(const std::vector<std::string>& patterns) {
  const std::string item = fmt::format("({})", fmt::join(patterns, "|"));
  return {{"type", "string"}, {"pattern", "^" + item + "(," + item + ")*$"}};
}

// What the command line takes: numbers, ranges, and other axes by letter or
// name.
Json IntegerText(const AxisTable& table, const Axis& axis) {
  std::vector<std::string> others;
  for (const Axis& other : table) {
    if (other.type != AxisType::kInteger || other.name == axis.name) continue;
    if (!other.letter.empty()) others.push_back(other.letter);
    others.push_back(other.name);
  }
  std::vector<std::string> patterns = {
      "[0-9]+(:[0-9]+:x?[0-9]+)?",
      fmt::format("=({})", fmt::join(others, "|"))};
  if (axis.allow_infinite) patterns.emplace_back("inf");
  return TextOf(patterns);
}

Json NameText(const Axis& axis) {
  std::vector<std::string> patterns;
  for (const std::string& name : axis.names) {
    const std::size_t colon = name.find(':');
    patterns.push_back(colon == std::string::npos
                           ? name
                           : name.substr(0, colon + 1) + "[^,]+");
  }
  if (!axis.other_names.empty()) {
    // Without its ^ and $: it stands among others here.
    patterns.push_back(axis.other_names.substr(1, axis.other_names.size() - 2));
  }
  return TextOf(patterns);
}

Json AxisValues(const AxisTable& table, const Axis& axis) {
  const Json value = axis.type == AxisType::kInteger
                         ? Json{{"anyOf",
                                 {WholeNumber(axis.least, axis.greatest),
                                  IntegerText(table, axis)}}}
                         : NameText(axis);
  return Described(ValueOrList(value), axis.help);
}

// Axes and options stand in several places, and are written down once.
Json Refer(const std::string& definition) {
  return {{"$ref", "#/definitions/" + definition}};
}

Json AxesProperties(const AxisTable& table) {
  Json properties = Json::object();
  for (const Axis& axis : table) properties[axis.name] = Refer(axis.name);
  return properties;
}

Json OptionsSchema() {
  std::set<std::string> names;
  for (const auto* mechanism : Mechanisms<float>()) {
    for (const OptionSpec& spec : mechanism->Describe().options) {
      names.insert(spec.name);
    }
  }
  Json properties = Json::object();
  for (const std::string& name : names) {
    properties[name] = ValueOrList({{"type", {"boolean", "number", "string"}}});
  }
  return Described(Members(properties),
                   "options of mechanisms (attnbench list), of those that "
                   "declare them");
}

Json AlternativesSchema(const AxisTable& table) {
  Json properties = {{"mechanism", {{"enum", MechanismNames()}}}};
  properties.update(AxesProperties(table));
  properties["options"] = Refer("options");
  return Described(NonEmptyList(Members(properties, {"mechanism"})),
                   "mechanisms, each with values of its own in place of the "
                   "common ones; without, all mechanisms");
}

Json ExclusionsSchema(const AxisTable& table) {
  Json properties = {{"mechanism", ValueOrList({{"enum", MechanismNames()}})}};
  properties.update(AxesProperties(table));
  Json exclusion = Members(properties);
  exclusion["minProperties"] = 1;
  return Described(NonEmptyList(exclusion),
                   "cells to leave out: those for which everything in one of "
                   "these objects is so");
}

// What the file and its profiles may say.
Json CommonProperties(const AxisTable& table) {
  return {{"repetitions", Described(WholeNumber(1, kMostRepetitions),
                                    "rounds, each with a sample of each cell")},
          {"trials", Described(WholeNumber(1, kMostTrials),
                               "least number of trials of a cell over all "
                               "rounds")},
          {"processes", Described(WholeNumber(1, kMostProcesses),
                                  "fresh processes, each with all rounds")},
          {"axes", Described(Members(AxesProperties(table)),
                             "what is crossed, for every mechanism; an axis "
                             "that is missing has its default")},
          {"alternatives", Refer("alternatives")}};
}

}  // namespace

Json ExperimentSchema(const AxisTable& table) {
  const Json text = {{"type", "string"}, {"minLength", 1}};
  Json properties = {
      {"name", Described(text, "name of the file without .json")},
      {"question", Described(text, "what the experiment answers")},
      {"source", Described(text, "where grid and settings come from")},
      {"seed",
       Described(WholeNumber(0, std::numeric_limits<std::int64_t>::max()),
                 "of the inputs and of the order of measuring")}};
  properties.update(CommonProperties(table));
  properties["options"] = Refer("options");
  properties["exclusions"] = ExclusionsSchema(table);
  properties["profiles"] =
      Described(Members({{"quick", Members(CommonProperties(table))}}),
                "what --quick replaces, each axis by itself");
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "Experiment of attnbench"}};
  schema.update(Members(properties, {"name"}));
  schema["definitions"] = {{"options", OptionsSchema()},
                           {"alternatives", AlternativesSchema(table)}};
  for (const Axis& axis : table) {
    schema["definitions"][axis.name] = AxisValues(table, axis);
  }
  return schema;
}

std::string ExperimentSchemaText(const AxisTable& table) {
  return ExperimentSchema(table).dump(2) + "\n";
}

}  // namespace attnbench
