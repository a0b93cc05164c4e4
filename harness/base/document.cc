#include "harness/base/document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <map>
#include <regex>

#include "harness/base/error.h"
#include "harness/base/printable.h"

namespace attnbench {

std::string Place::Text() const {
  if (owner_ == nullptr) return std::string(name_);
  const std::string owner = owner_->Text();
  const std::string name = Shortened(name_);
  if (is_index_) return fmt::format("{}[{}]", owner, index_);
  return fmt::format("{}{}{}", owner, owner_->owner_ == nullptr ? ": " : ".",
                     name);
}

void FailAt(const Place& place, const std::string& what) {
  throw UserError(place.Text(), what);
}

namespace document {
namespace {

// The given value, short enough for a line.
std::string Given(const Json& json) {
  constexpr std::size_t kMost = 40;
  return Shortened(json.dump(-1, ' ', false, Json::error_handler_t::replace),
                   kMost);
}

// Gives "from 0 to 1" or "above 0"; empty where every number is allowed.
std::string RangeText(const Rule& rule) {
  std::string text;
  if (rule.minimum) text += fmt::format(" from {}", *rule.minimum);
  if (rule.exclusive_minimum) {
    text += fmt::format(" above {}", *rule.exclusive_minimum);
  }
  if (rule.maximum) text += fmt::format(" to {}", *rule.maximum);
  if (rule.exclusive_maximum) {
    text += fmt::format(" below {}", *rule.exclusive_maximum);
  }
  if (rule.multiple_of) {
    text += fmt::format(" that is a multiple of {}", *rule.multiple_of);
  }
  return text;
}

bool IsInRange(double number, const Rule& rule) {
  const double infinity = std::numeric_limits<double>::infinity();
  return number >= rule.minimum.value_or(-infinity) &&
         number <= rule.maximum.value_or(infinity) &&
         (!rule.exclusive_minimum || number > *rule.exclusive_minimum) &&
         (!rule.exclusive_maximum || number < *rule.exclusive_maximum) &&
         (!rule.multiple_of || std::fmod(number, *rule.multiple_of) == 0);
}

// Compiled patterns are kept: a document has the same few thousands of times.
bool Matches(const std::string& text, const std::string& pattern) {
  if (pattern.empty()) return true;
  thread_local std::map<std::string, std::regex> known;
  const auto [found, is_new] = known.try_emplace(pattern);
  if (is_new) found->second = std::regex(pattern);
  return std::regex_search(text, found->second);
}

[[noreturn]] void FailNumber(const Json& json, const char* what,
                             const Rule& rule, const Place& place) {
  if (rule.minimum && rule.minimum == rule.maximum) {
    FailAt(place, fmt::format("is {}, must be {}", Given(json), *rule.minimum));
  }
  FailAt(place,
         fmt::format("{} is no {}{}", Given(json), what, RangeText(rule)));
}

}  // namespace

bool ReadBool(const Json& json, const Place& place) {
  if (!json.is_boolean()) {
    FailAt(place, fmt::format("{} is neither true nor false", Given(json)));
  }
  return json.get<bool>();
}

std::int64_t ReadWhole(const Json& json, const Rule& rule, const Place& place) {
  // 2^63 itself is out of range.
  constexpr double kBeyond = 9223372036854775808.0;
  const double number = json.is_number() ? json.get<double>() : NAN;
  const bool too_large =
      json.is_number_unsigned() &&
      !std::in_range<std::int64_t>(json.get<std::uint64_t>());
  if (too_large) FailAt(place, Given(json) + " is too large");
  if (!(number >= -kBeyond && number < kBeyond) ||
      number != std::floor(number) || !IsInRange(number, rule)) {
    FailNumber(json, "whole number", rule, place);
  }
  return json.get<std::int64_t>();
}

std::uint64_t ReadUnsigned(const Json& json, const Rule& rule,
                           const Place& place) {
  // Like ReadWhole and JSON Schema, it takes 6.0 and 1e3 for whole numbers.
  const double number = json.is_number() ? json.get<double>() : NAN;
  const bool is_whole =
      json.is_number_unsigned() ||
      (number >= 0 && number < 0x1p64 && number == std::floor(number));
  if (!is_whole || !IsInRange(number, rule)) {
    FailNumber(json, rule.minimum ? "whole number" : "whole number from 0 on",
               rule, place);
  }
  return json.get<std::uint64_t>();
}

double ReadDouble(const Json& json, const Rule& rule, const Place& place) {
  const double number = json.is_number() ? json.get<double>() : NAN;
  if (!std::isfinite(number) || !IsInRange(number, rule)) {
    FailNumber(json, "number", rule, place);
  }
  return number;
}

std::string ReadString(const Json& json, const Rule& rule, const Place& place) {
  if (!json.is_string()) {
    FailAt(place, fmt::format("{} is no text", Given(json)));
  }
  std::string text = json.get<std::string>();
  if (rule.not_empty && text.empty()) FailAt(place, "is an empty text");
  if (!rule.one_of.empty() && !Contains(rule.one_of, text)) {
    FailAt(place, UnknownName("value", text, rule.one_of));
  }
  if (!Matches(text, rule.pattern)) {
    FailAt(place,
           fmt::format("{} does not match {}", Given(json), rule.pattern));
  }
  return text;
}

std::string ReadOneText(const Json& json, const Rule& rule,
                        const Place& place) {
  const bool has_both = !rule.one_of.empty() && !rule.pattern.empty();
  if (has_both && json.is_string() &&
      Matches(json.get<std::string>(), rule.pattern)) {
    return json.get<std::string>();
  }
  return ReadString(
      json, {.pattern = has_both ? "" : rule.pattern, .one_of = rule.one_of},
      place);
}

void CheckIsList(const Json& json, const Rule& rule, const Place& place) {
  if (!json.is_array()) {
    FailAt(place, fmt::format("{} is no list", Given(json)));
  }
  const std::size_t most =
      rule.max_items.value_or(std::numeric_limits<std::size_t>::max());
  if (json.size() < rule.min_items || json.size() > most) {
    FailAt(place, fmt::format(
                      "is a list of {} values; expected at least {}{}",
                      json.size(), rule.min_items,
                      rule.max_items ? fmt::format(", at most {}", most) : ""));
  }
}

void CheckIsObject(const Json& json, const Place& place) {
  if (!json.is_object()) {
    FailAt(place, fmt::format("{} is no object {{...}}", Given(json)));
  }
}

void CheckKeys(const Json& json, const std::vector<std::string>& names,
               const Place& place) {
  for (const auto& [name, value] : json.items()) {
    if (!Contains(names, name)) {
      FailAt(place, UnknownName("key", name, names));
    }
  }
}

const Json* FindMember(const Json& json, const char* name, const Rule& rule,
                       const Place& place) {
  const auto member = json.find(name);
  if (member != json.end()) return &*member;
  if (!rule.may_be_absent && !rule.absent_if_unset) {
    FailAt(place, fmt::format("has no '{}'", name));
  }
  return nullptr;
}

Json WithRule(Json schema, const Rule& rule) {
  if (rule.minimum) schema["minimum"] = *rule.minimum;
  if (rule.exclusive_minimum) {
    schema["exclusiveMinimum"] = *rule.exclusive_minimum;
  }
  if (rule.maximum) schema["maximum"] = *rule.maximum;
  if (rule.exclusive_maximum) {
    schema["exclusiveMaximum"] = *rule.exclusive_maximum;
  }
  if (rule.multiple_of) schema["multipleOf"] = *rule.multiple_of;
  if (rule.not_empty) schema["minLength"] = 1;
  if (!rule.pattern.empty()) schema["pattern"] = rule.pattern;
  if (!rule.one_of.empty()) schema["enum"] = rule.one_of;
  return schema;
}

Json ListSchema(Json items, const Rule& rule) {
  Json schema = {{"type", "array"}, {"items", std::move(items)}};
  if (rule.min_items > 0) schema["minItems"] = rule.min_items;
  if (rule.max_items) schema["maxItems"] = *rule.max_items;
  return schema;
}

Json Defined(const std::string& definition) {
  return {{"$ref", "#/definitions/" + definition}};
}

Json NullOrSchema(Json schema) {
  return {{"anyOf", {std::move(schema), {{"type", "null"}}}}};
}

Json ObjectSchema(Json properties, Json required) {
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

std::string SchemaText(const char* title, const Json& schema) {
  Json whole = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                {"title", title}};
  whole.update(schema);
  return whole.dump(2) + "\n";
}

}  // namespace document
}  // namespace attnbench
