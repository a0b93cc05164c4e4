#include "harness/sweep/values.h"

#include <algorithm>
#include <stdexcept>

#include "harness/base/error.h"

namespace attnbench {
namespace {

bool AllowsAnything(const Rule& rule) {
  return !rule.minimum && rule.one_of.empty() && rule.pattern.empty();
}

bool AllowsText(const Rule& rule) {
  return !rule.one_of.empty() || !rule.pattern.empty();
}

}  // namespace

std::string AxisValue::Shown() const {
  if (is_null()) return "-";
  return is_text() ? text() : std::to_string(whole());
}

const AxisValue& AxisMap::at(std::string_view axis) const {
  const auto found =
      std::find_if(values_.begin(), values_.end(),
                   [axis](const auto& one) { return one.first == axis; });
  if (found == values_.end()) {
    throw std::out_of_range("no axis " + std::string(axis));
  }
  return found->second;
}

AxisValue& AxisMap::operator[](std::string_view axis) {
  const auto found =
      std::find_if(values_.begin(), values_.end(),
                   [axis](const auto& one) { return one.first == axis; });
  if (found != values_.end()) return found->second;
  return values_.emplace_back(axis, nullptr).second;
}

std::string OptionText(const OptionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return ToJson(value).dump();
}

Json JsonForm<AxisValue>::Write(const AxisValue& value) {
  if (value.is_null()) return nullptr;
  return value.is_text() ? Json(value.text()) : Json(value.whole());
}

AxisValue JsonForm<AxisValue>::Read(const Json& json, const Rule& rule,
                                    const Place& place) {
  const bool anything = AllowsAnything(rule);
  if (json.is_null()) {
    if (!anything && !rule.may_be_null) FailAt(place, "is null");
    return nullptr;
  }
  if (json.is_string() && (anything || AllowsText(rule))) {
    return document::ReadOneText(json, rule, place);
  }
  if (anything || rule.minimum) {
    return document::ReadWhole(json, rule, place);
  }
  return document::ReadOneText(json, rule, place);
}

Json JsonForm<AxisValue>::Schema(const Rule& rule) {
  Json any = Json::array();
  if (rule.minimum) {
    any.push_back({{"type", "integer"},
                   {"minimum", static_cast<std::int64_t>(*rule.minimum)},
                   {"maximum", static_cast<std::int64_t>(*rule.maximum)}});
  }
  if (!rule.one_of.empty()) any.push_back({{"enum", rule.one_of}});
  if (!rule.pattern.empty()) {
    any.push_back({{"type", "string"}, {"pattern", rule.pattern}});
  }
  if (rule.may_be_null) any.push_back({{"type", "null"}});
  if (any.empty()) return {{"type", {"integer", "string", "null"}}};
  return any.size() == 1 ? any[0] : Json{{"anyOf", any}};
}

Json JsonForm<AxisMap>::Write(const AxisMap& values) {
  Json json = Json::object();
  for (const auto& [axis, value] : values) json[axis] = ToJson(value);
  return json;
}

AxisMap JsonForm<AxisMap>::Read(const Json& json, const Rule& rule,
                                const Place& place) {
  document::CheckIsObject(json, place);
  AxisMap values;
  for (const auto& [axis, value] : json.items()) {
    values[axis] = JsonForm<AxisValue>::Read(value, rule, Place(place, axis));
  }
  return values;
}

Json JsonForm<AxisMap>::Schema(const Rule& rule) {
  return {{"type", "object"},
          {"additionalProperties", JsonForm<AxisValue>::Schema(rule)}};
}

Json JsonForm<OptionValue>::Write(const OptionValue& value) {
  return std::visit([](const auto& one) { return Json(one); }, value);
}

OptionValue JsonForm<OptionValue>::Read(const Json& json, const Rule& /*rule*/,
                                        const Place& place) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return document::ReadWhole(json, {}, place);
  if (json.is_number()) return document::ReadDouble(json, {}, place);
  if (json.is_string()) return json.get<std::string>();
  FailAt(place, "is no number, no text and neither true nor false");
}

Json JsonForm<OptionValue>::Schema(const Rule& /*rule*/) {
  return {{"type", {"boolean", "number", "string"}}};
}

}  // namespace attnbench
