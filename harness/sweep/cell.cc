#include "harness/sweep/cell.h"

#include <algorithm>

#include "mechanisms/registry.h"

namespace attnbench {

std::vector<std::string> MechanismNames() {
  std::vector<std::string> names;
  for (const auto* mechanism : Mechanisms<float>()) {
    names.push_back(mechanism->Describe().name);
  }
  return names;
}

std::vector<std::string> CellMechanismNames() {
  std::vector<std::string> names = MechanismNames();
  names.emplace_back(kNoAttention);
  return names;
}

std::int64_t CellIdentity::Int(std::string_view axis) const {
  const AxisValue& value = axes.at(axis);
  return value.is_text() ? kInfiniteWidth : value.whole();
}

std::string CellIdentity::Key() const {
  Json key = {{"mechanism", mechanism}};
  for (const auto& [axis, value] : axes) key[axis] = ToJson(value);
  std::map<std::string, OptionValue> read = options;
  for (const auto* known : Mechanisms<double>()) {
    if (known->Describe().name != mechanism) continue;
    for (const OptionSpec& spec : known->Describe().options) {
      const auto found = read.find(spec.name);
      if (found != read.end() && !spec.variant.empty() &&
          spec.variant != Text("variant") &&
          found->second == spec.default_value) {
        read.erase(found);
      }
    }
  }
  key["options"] = ToJson(read);
  return key.dump();
}

Config MakeConfig(const CellIdentity& cell) {
  const auto is_set = [&cell](const std::string& axis) {
    return !cell.axes.at(axis).is_null();
  };
  Config config;
  config.dim = cell.Int("dim");
  if (is_set("energy")) config.energy = cell.As<EnergyKind>("energy");
  if (is_set("end")) config.end = cell.As<EndPolicy>("end");
  config.mode = cell.mode();
  config.schedule = cell.schedule();
  config.variant = cell.Text("variant");
  config.options = cell.options;
  if (const auto* known = FindMechanism<double>(cell.mechanism)) {
    for (const OptionSpec& spec : known->Describe().options) {
      config.options.try_emplace(spec.name, spec.default_value);
    }
  }
  for (const Axis& axis : AllAxes()) {
    if (axis.is_option && is_set(axis.name)) {
      config.options[axis.name] = cell.Int(axis.name);
    }
  }
  return config;
}

}  // namespace attnbench
