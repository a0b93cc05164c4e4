#include <fmt/format.h>

#include <string>
#include <vector>

#include "harness/sweep/experiment.h"
#include "harness/sweep/experiment_document.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

Json Described(Json schema, const std::string& description) {
  schema["description"] = description;
  return schema;
}

Json ValueOrList(const Json& value) {
  return {{"anyOf", {value, document::ListSchema(value, {.min_items = 1})}}};
}

// A text with commas, each part of which matches one of the patterns.
Json TextOf(const std::vector<std::string>& patterns) {
  const std::string item = fmt::format("({})", fmt::join(patterns, "|"));
  return {{"type", "string"}, {"pattern", "^" + item + "(," + item + ")*$"}};
}

// The texts that the command line takes: numbers, ranges, and other axes by
// letter or name.
Json IntegerText(const Axis& axis) {
  std::vector<std::string> others;
  for (const Axis& other : AllAxes()) {
    if (other.type != AxisType::kInteger || other.name == axis.name ||
        other.of_decoder) {
      continue;
    }
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
    // The pattern stands among others here, so it goes without its ^ and $.
    patterns.push_back(axis.other_names.substr(1, axis.other_names.size() - 2));
  }
  return TextOf(patterns);
}

Json AxisValues(const Axis& axis) {
  const Json value = axis.type == AxisType::kInteger
                         ? Json{{"anyOf",
                                 {Json{{"type", "integer"},
                                       {"minimum", axis.least},
                                       {"maximum", axis.greatest}},
                                  IntegerText(axis)}}}
                         : NameText(axis);
  return Described(ValueOrList(value), axis.help);
}

// The options of all mechanisms.
Json OptionsSchema() {
  Json properties = Json::object();
  for (const auto* mechanism : Mechanisms<float>()) {
    for (const OptionSpec& spec : OptionsBesideAxes(mechanism->Describe())) {
      properties[spec.name] = SchemaOf<OneOrMore<OptionValue>>();
    }
  }
  return Described(document::ObjectSchema(properties, Json::array()),
                   "options of mechanisms (attnbench list), of those that "
                   "declare them");
}

}  // namespace

std::string ExperimentSchemaText() {
  Json schema = SchemaOf<ExperimentDocument>();
  Json& definitions = schema["definitions"];
  definitions["options"] = OptionsSchema();
  definitions["alternatives"] = Described(
      document::ListSchema(SchemaOf<AlternativeDocument>(), {.min_items = 1}),
      "mechanisms, each with values of its own in place of the common ones; "
      "without, all mechanisms");
  for (const Axis& axis : AllAxes()) {
    definitions[axis.name] = AxisValues(axis);
  }
  return document::SchemaText(ExperimentDocument::kTitle, schema);
}

}  // namespace attnbench
