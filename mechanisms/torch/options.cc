#include "mechanisms/torch/options.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>
#include <string_view>
#include <variant>

#include "mechanisms/description.h"
#include "mechanisms/energy/energy.h"
#include "mechanisms/registry.h"
#include "mechanisms/training/noise.h"

namespace attnbench::torch_operators {
namespace {

constexpr char kAbsorb[] = "absorb";
constexpr char kStayLast[] = "stay_last";
constexpr char kRestart[] = "restart";
constexpr char kEnd[] = "end";
constexpr char kWidth[] = "chunk_width";
constexpr char kInfinite[] = "inf";
constexpr std::size_t kShown = 40;  // characters of a text in a message

template <class List, class Projection = std::identity>
std::string Joined(const List& list, Projection projection = {}) {
  std::string joined;
  for (const auto& one : list) {
    joined += (joined.empty() ? "" : ", ") + std::invoke(projection, one);
  }
  return joined;
}

std::string EnergyMechanismNames() {
  std::vector<std::string> names;
  for (const Mechanism<float>* mechanism : Mechanisms<float>()) {
    const Description& about = mechanism->Describe();
    if (TakesEnergiesAlone(about)) names.push_back(about.name);
  }
  return Joined(names);
}

// The options that can be given, with the end policy.
std::vector<OptionSpec> SpecsOf(const Description& about) {
  std::vector<OptionSpec> specs;
  if (std::ranges::find(about.axes, kEnd) != about.axes.end()) {
    specs.push_back(
        {.name = kEnd,
         .default_value = std::string(TextOf(Config().end)),
         .allowed = {TextOf(EndPolicy::kAbsorb), TextOf(EndPolicy::kStayLast),
                     TextOf(EndPolicy::kRestart)}});
  }
  std::ranges::copy_if(
      about.options, std::back_inserter(specs), [](const OptionSpec& spec) {
        return spec.variant.empty() && spec.policy.empty() &&
               spec.name != kPolicyOption && spec.name != NoiseOption().name;
      });
  return specs;
}

[[noreturn]] void Refuse(const OptionSpec& spec, const std::string& allowed,
                         const std::string& text) {
  TORCH_CHECK_VALUE(false, "options: ", spec.name, " must be ", allowed,
                    ", but is '", text.substr(0, kShown), "'");
}

// Reads a number of the type of the option's default.
template <class Number>
OptionValue ReadNumber(const OptionSpec& spec, const std::string& text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const auto value = static_cast<double>(number);
  if (error == std::errc() && rest == end && std::isfinite(value) &&
      value >= spec.least && value <= spec.greatest) {
    return number;
  }
  std::ostringstream allowed;
  allowed << (std::is_integral_v<Number> ? "a whole number" : "a number");
  if (std::isfinite(spec.least)) allowed << " from " << spec.least;
  if (std::isfinite(spec.greatest)) allowed << " to " << spec.greatest;
  Refuse(spec, allowed.str(), text);
}

OptionValue Read(const OptionSpec& spec, const std::string& text) {
  if (std::holds_alternative<bool>(spec.default_value)) {
    if (text == "true" || text == "false") return text == "true";
    Refuse(spec, "true or false", text);
  }
  if (std::holds_alternative<std::int64_t>(spec.default_value)) {
    return ReadNumber<std::int64_t>(spec, text);
  }
  if (std::holds_alternative<double>(spec.default_value)) {
    return ReadNumber<double>(spec, text);
  }
  if (!spec.allowed.empty() &&
      std::ranges::find(spec.allowed, text) == spec.allowed.end()) {
    Refuse(spec, "one of " + Joined(spec.allowed), text);
  }
  return text;
}

}  // namespace

EndPolicy EndOf(c10::string_view text) {
  if (text == kAbsorb) return EndPolicy::kAbsorb;
  if (text == kStayLast) return EndPolicy::kStayLast;
  if (text == kRestart) return EndPolicy::kRestart;
  TORCH_CHECK_VALUE(false,
                    "end must be one of absorb, stay_last, restart, but is "
                    "another text: ",
                    text.substr(0, kShown));
}

const char* TextOf(EndPolicy end) {
  switch (end) {
    case EndPolicy::kAbsorb:
      return kAbsorb;
    case EndPolicy::kStayLast:
      return kStayLast;
    case EndPolicy::kRestart:
      return kRestart;
  }
  return "";
}

const Description& DescribeEnergyMechanism(const std::string& name) {
  const Mechanism<float>* const mechanism = FindMechanism<float>(name);
  TORCH_CHECK_VALUE(mechanism != nullptr, "mechanism must be one of ",
                    EnergyMechanismNames(), ", but is '",
                    name.substr(0, kShown), "'");
  const Description& about = mechanism->Describe();
  if (TakesEnergiesAlone(about)) return about;
  TORCH_CHECK_VALUE(HasMode(about, Mode::kGradient),
                    "mechanism must be one of ", EnergyMechanismNames(), ": ",
                    name, " has no ", FunctionOf(Mode::kGradient));
  std::vector<std::string> scores;
  for (const std::vector<InputSpec>& list : about.scores) {
    scores.push_back(list[0].name);
  }
  TORCH_CHECK_VALUE(false, "mechanism must be one of ", EnergyMechanismNames(),
                    ": attention of ", name,
                    " does not follow from energies, but from ",
                    scores.empty() ? "no scores" : Joined(scores));
}

Config ConfigOf(const Description& about, c10::string_view options) {
  Config config = DefaultConfig(about);
  const std::vector<OptionSpec> specs = SpecsOf(about);
  std::istringstream all{std::string(options)};
  for (std::string option; std::getline(all, option, ',');) {
    const std::size_t equals = option.find('=');
    TORCH_CHECK_VALUE(equals != std::string::npos,
                      "options: each must be NAME=VALUE, but one is '",
                      option.substr(0, kShown), "'");
    const std::string name = option.substr(0, equals);
    const std::string text = option.substr(equals + 1);
    TORCH_CHECK_VALUE(name != NoiseOption().name,
                      "options: noise would be the same in every call; add it "
                      "to energies");
    const auto spec = std::ranges::find(specs, name, &OptionSpec::name);
    TORCH_CHECK_VALUE(
        spec != specs.end(), "options: ", about.name, " has no '",
        name.substr(0, kShown), "', but ",
        specs.empty() ? "none" : Joined(specs, &OptionSpec::name));
    if (name == kWidth && text == kInfinite) {
      config.options[kWidth] = kInfiniteWidth;
    } else if (name == kEnd) {
      config.end = EndOf(std::get<std::string>(Read(*spec, text)));
    } else {
      config.options[name] = Read(*spec, text);
    }
  }
  return config;
}

}  // namespace attnbench::torch_operators
