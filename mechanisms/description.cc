#include "mechanisms/description.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>

namespace attnbench {
namespace {

template <class List, class T, class Key = std::identity>
bool Has(const List& list, const T& value, Key key = {}) {
  return std::ranges::find(list, value, key) != std::ranges::end(list);
}

[[noreturn]] void Refuse(const Description& about, const std::string& what) {
  throw std::invalid_argument("mechanism '" + about.name + "': " + what);
}

void CheckInput(const Description& about, const InputSpec& input,
                bool is_score) {
  static constexpr std::array<std::string_view, 5> kTaken = {
      "memory", "states", "contexts", "attention", "cotangent"};
  if (input.name.empty()) Refuse(about, "an input has no name");
  const std::string quoted = "input '" + input.name + "'";
  if (Has(kTaken, input.name)) Refuse(about, quoted + " has a taken name");
  const auto is_length = [](char letter) {
    return std::string_view("TUdK").find(letter) != std::string_view::npos;
  };
  if (input.shape.size() != 2 || !std::ranges::all_of(input.shape, is_length)) {
    Refuse(about, quoted + " has shape '" + input.shape +
                      "'; expected two of the letters T, U, d and K");
  }
  if (!is_score && Has(input.shape, 'K')) {
    Refuse(about, quoted + " has a length K, which only scores can have");
  }
  if (Has(input.shape, 'K') && FindOption(about, "num_contexts") == nullptr) {
    Refuse(about, quoted +
                      " has a length K, but the mechanism does not have "
                      "the option num_contexts");
  }
  if (input.energy.has_value() && !Has(about.axes, "energy")) {
    Refuse(about, quoted +
                      " belongs to an energy function, but the mechanism does "
                      "not have the axis energy");
  }
}

bool SameInput(const InputSpec& a, const InputSpec& b) {
  return a.shape == b.shape && a.domain == b.domain && a.energy == b.energy &&
         a.has_gradient == b.has_gradient;
}

}  // namespace

Config DefaultConfig(const Description& description, Mode mode) {
  Config config;
  config.mode = mode;
  for (const OptionSpec& option : description.options) {
    config.options[option.name] = option.default_value;
  }
  return config;
}

const VariantSpec& VariantOf(const Description& description,
                             const Config& config) {
  const auto found = std::ranges::find(description.variants, config.variant,
                                       &VariantSpec::name);
  if (found == description.variants.end()) {
    throw Unsupported("has no variant " + config.variant);
  }
  return *found;
}

const OptionSpec* FindOption(const Description& description,
                             std::string_view name) {
  const auto found =
      std::ranges::find(description.options, name, &OptionSpec::name);
  return found == description.options.end() ? nullptr : &*found;
}

bool HasPolicy(const Description& description, const Config& config) {
  const OptionSpec* const option = FindOption(description, kPolicyOption);
  return option != nullptr && config.Option<std::string>(kPolicyOption) !=
                                  std::get<std::string>(option->default_value);
}

bool DecodesOnline(const Description& description, const Config& config) {
  return description.online || HasPolicy(description, config);
}

const char* FunctionOf(Mode mode) {
  return mode == Mode::kDecode   ? "MakeDecoder"
         : mode == Mode::kExpect ? "Expect"
                                 : "Gradient";
}

bool HasMode(const Description& description, Mode mode) {
  return Has(description.modes, mode);
}

bool HasMode(const VariantSpec& variant, Mode mode) {
  return variant.modes.empty() || Has(variant.modes, mode);
}

bool MustAgree(const Description& description, const Config& config) {
  return config.mode == Mode::kDecode ||
         !VariantOf(description, config).approximates;
}

const InputSpec* FindScore(const Description& description,
                           std::string_view name) {
  for (const std::vector<InputSpec>& list : description.scores) {
    for (const InputSpec& score : list) {
      if (score.name == name) return &score;
    }
  }
  return nullptr;
}

std::vector<InputSpec> FurtherInputs(const Description& description,
                                     const Config& config) {
  std::vector<InputSpec> read;
  for (const InputSpec& input : description.further) {
    if (input.energy.value_or(config.energy) == config.energy) {
      read.push_back(input);
    }
  }
  return read;
}

void CheckDescriptions(std::span<const Description* const> descriptions) {
  std::map<std::string, std::pair<InputSpec, std::string>> known;
  for (const Description* about : descriptions) {
    std::set<std::string> names;
    const auto check = [&](const InputSpec& input, bool is_score) {
      CheckInput(*about, input, is_score);
      if (!names.insert(input.name).second) {
        Refuse(*about, "input '" + input.name + "' is declared twice");
      }
      const auto& [first, owner] =
          known.try_emplace(input.name, input, about->name).first->second;
      if (!SameInput(first, input)) {
        Refuse(*about, "input '" + input.name +
                           "' is not declared as mechanism '" + owner +
                           "' declares it");
      }
    };
    for (const std::vector<InputSpec>& list : about->scores) {
      if (list.empty()) Refuse(*about, "a list of its scores is empty");
      for (const InputSpec& score : list) check(score, true);
    }
    for (const InputSpec& input : about->further) check(input, false);
    for (const VariantSpec& variant : about->variants) {
      if (variant.is_reference == (variant.name == "reference")) continue;
      Refuse(*about, "variant '" + variant.name +
                         "' is the reference in its name or in is_reference "
                         "alone");
    }
    for (const OptionSpec& option : about->options) {
      for (const OptionValue& value : option.verified) {
        if (value.index() == option.default_value.index()) continue;
        Refuse(*about, "option '" + option.name +
                           "' verifies values of another type than its "
                           "default's");
      }
      if (option.variant.empty() ||
          Has(about->variants, option.variant, &VariantSpec::name)) {
        continue;
      }
      Refuse(*about, "option '" + option.name + "' is of variant '" +
                         option.variant + "', which there is not");
    }
  }
}

}  // namespace attnbench
