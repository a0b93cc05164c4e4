#include "harness/sweep/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <system_error>
#include <variant>

#include "harness/base/error.h"
#include "harness/base/printable.h"
#include "harness/sweep/axes.h"
#include "harness/sweep/values.h"
#include "mechanisms/description.h"

namespace attnbench {
namespace {

OptionValue CheckNumber(const OptionSpec& spec, const OptionValue& value) {
  double number = std::numeric_limits<double>::quiet_NaN();
  if (const auto* text = std::get_if<std::string>(&value)) {
    const char* const last = text->data() + text->size();
    double parsed = 0;
    const auto [end, error] = std::from_chars(text->data(), last, parsed);
    if (error == std::errc() && end == last) number = parsed;
  } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    number = static_cast<double>(*whole);
  } else if (const auto* real = std::get_if<double>(&value)) {
    number = *real;
  }
  if (!std::isfinite(number) || number < spec.least || number > spec.greatest) {
    const std::string text = OptionText(value);
    throw UserError(
        "option " + spec.name,
        fmt::format("'{}' is not a number from {} to {}{}", Shortened(text),
                    spec.least, spec.greatest,
                    text.find(':') == std::string::npos
                        ? ""
                        : "; only whole numbers have ranges, so write a list, "
                          "such as 0.5,0.7"));
  }
  return number;
}

OptionValue CheckSwitch(const OptionSpec& spec, const OptionValue& value) {
  if (std::holds_alternative<bool>(value)) return value;
  if (value == OptionValue(std::string("true"))) return true;
  if (value == OptionValue(std::string("false"))) return false;
  throw UserError(
      "option " + spec.name,
      fmt::format("'{}' is not true or false", Shortened(OptionText(value))));
}

OptionValue CheckText(const OptionSpec& spec, const OptionValue& value) {
  const std::string text = OptionText(value);
  if (!spec.allowed.empty() && !Contains(spec.allowed, text)) {
    throw UserError("option " + spec.name,
                    UnknownName("value", text, spec.allowed));
  }
  return text;
}

// Adds the values that `value` stands for, as it was written, in the type of
// the option: a whole number is written as on an axis, and "=T" kept as a text.
void AppendOption(const OptionSpec& spec, const OptionValue& value,
                  std::vector<OptionValue>& values) {
  if (std::holds_alternative<bool>(spec.default_value)) {
    values.push_back(CheckSwitch(spec, value));
  } else if (std::holds_alternative<double>(spec.default_value)) {
    values.push_back(CheckNumber(spec, value));
  } else if (std::holds_alternative<std::string>(spec.default_value)) {
    values.push_back(CheckText(spec, value));
  } else {
    for (const AxisValue& one : ParseAxisValues(
             AxisOfOption(spec), OptionText(value), "option " + spec.name)) {
      if (one.is_text()) {
        values.emplace_back(one.text());
      } else {
        values.emplace_back(one.whole());
      }
    }
  }
}

void LeaveOutPolicy(const std::vector<OptionSpec>& specs, Mode mode,
                    std::map<std::string, OptionValue>& options) {
  for (const OptionSpec& spec : specs) {
    if (spec.name != kPolicyOption) continue;
    const OptionValue policy = options.at(spec.name);
    const bool is_read = mode == Mode::kDecode && policy != spec.default_value;
    if (!is_read) options.erase(spec.name);
    for (const OptionSpec& other : specs) {
      if (other.policy.empty()) continue;
      if (is_read && policy == OptionValue(other.policy)) continue;
      options.erase(other.name);
    }
  }
}

}  // namespace

void CheckOptionNames(
    const std::map<std::string, std::vector<OptionValue>>& options,
    const std::vector<OptionSpec>& specs, const std::string& where) {
  std::vector<std::string> names;
  for (const OptionSpec& spec : specs) {
    if (!Contains(names, spec.name)) names.push_back(spec.name);
  }
  for (const auto& [name, values] : options) {
    if (Contains(names, name)) continue;
    const auto axis = std::ranges::find(AllAxes(), name, &Axis::name);
    throw UserError(where, axis == AllAxes().end()
                               ? UnknownName("option", name, names)
                               : fmt::format("{} is an axis: use {}", name,
                                             OptionName(*axis)));
  }
}

std::vector<OptionValue> OptionValuesOf(const OptionSpec& spec,
                                        const SweepRequest& request,
                                        const Alternative& alternative) {
  const std::vector<OptionValue>* given = nullptr;
  for (const auto* options : {&request.options, &alternative.options}) {
    const auto found = options->find(spec.name);
    if (found != options->end()) given = &found->second;
  }
  if (given == nullptr) return {spec.default_value};
  if (given->empty()) {
    throw UserError("option " + spec.name, "the list of values is empty");
  }
  std::vector<OptionValue> values;
  for (const OptionValue& value : *given) AppendOption(spec, value, values);
  return values;
}

void CheckPolicies(const SweepRequest& request, const Alternative& alternative,
                   const std::vector<OptionSpec>& specs,
                   const std::vector<std::vector<OptionValue>>& values) {
  const auto policy =
      std::ranges::find(specs, kPolicyOption, &OptionSpec::name);
  if (policy == specs.end()) return;
  const std::vector<OptionValue>& policies =
      values[Size(policy - specs.begin())];
  for (const OptionSpec& spec : specs) {
    const bool is_read =
        std::ranges::find(policies, OptionValue(spec.policy)) != policies.end();
    if (spec.policy.empty() || is_read ||
        !(request.options.contains(spec.name) ||
          alternative.options.contains(spec.name))) {
      continue;
    }
    throw UserError(
        "option " + spec.name,
        fmt::format("is read with policy={0} only, and policy is {1}; add "
                    "--option policy={0}",
                    spec.policy, OptionText(policies.front())));
  }
}

void LeaveOutUnread(const std::vector<OptionSpec>& specs,
                    const std::string& variant, Mode mode,
                    std::map<std::string, OptionValue>& options) {
  for (const OptionSpec& spec : specs) {
    if (spec.variant.empty() || spec.variant == variant) continue;
    if (options.at(spec.name) == spec.default_value) options.erase(spec.name);
  }
  LeaveOutPolicy(specs, mode, options);
}

}  // namespace attnbench
