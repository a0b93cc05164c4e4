// What a peer says of itself, checked, and what that means for a cell.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <regex>

#include "harness/error.h"
#include "harness/peer.h"

namespace attnbench {
namespace {

[[noreturn]] void Refuse(const std::string& what) {
  throw PeerError("describes itself wrongly: " + what);
}

const Json& Member(const Json& object, const std::string& key) {
  if (!object.is_object() || !object.contains(key)) {
    Refuse(fmt::format("'{}' is missing", key));
  }
  return object.at(key);
}

std::string TextOf(const Json& object, const std::string& key) {
  const Json& value = Member(object, key);
  if (!value.is_string() || value.get<std::string>().empty()) {
    Refuse(fmt::format("'{}' is not a text", key));
  }
  return value.get<std::string>();
}

const std::vector<std::string>& NamesOf(const AxisTable& table,
                                        const std::string& axis) {
  return FindAxis(table, axis, "peer").names;
}

// Each of them a name of the axis.
std::vector<std::string> NamesIn(const Json& object, const std::string& key,
                                 const std::vector<std::string>& valid) {
  const Json& list = Member(object, key);
  if (!list.is_array() || list.empty()) {
    Refuse(fmt::format("'{}' is not a list of names", key));
  }
  std::vector<std::string> names;
  for (const Json& item : list) {
    const std::string name =
        item.is_string() ? item.get<std::string>() : item.dump();
    if (!Contains(valid, name)) {
      Refuse(key + ": " + UnknownName("name", name, valid));
    }
    names.push_back(name);
  }
  return names;
}

PeerVariant ParseVariant(const Json& item, const AxisTable& table) {
  PeerVariant variant;
  variant.name = TextOf(item, "name");
  const Axis& axis = FindAxis(table, "variant", "peer");
  if (!std::regex_match(variant.name, std::regex(axis.other_names))) {
    Refuse(fmt::format("variant '{}' does not match {}", variant.name,
                       axis.other_names));
  }
  variant.help = TextOf(item, "help");
  variant.mechanism = TextOf(item, "mechanism");
  const std::vector<std::string> valid = MechanismNames();
  if (!Contains(valid, variant.mechanism)) {
    Refuse(UnknownName("mechanism", variant.mechanism, valid));
  }
  variant.modes = NamesIn(item, "modes", NamesOf(table, "mode"));
  variant.schedules = NamesIn(item, "schedules", NamesOf(table, "schedule"));
  variant.scopes = NamesIn(item, "scopes", NamesOf(table, "scope"));
  variant.energies = NamesIn(item, "energies", NamesOf(table, "energy"));
  variant.precisions = NamesIn(item, "precisions", NamesOf(table, "precision"));
  const Json& approximates = Member(item, "approximates");
  if (!approximates.is_boolean()) Refuse("'approximates' is not true or false");
  variant.approximates = approximates.get<bool>();
  return variant;
}

// What the axes of the cell ask for that the peer does not have.
std::optional<std::string> PeerSkipReason(const PeerVariant& variant,
                                          const Cell& cell) {
  const bool decodes = cell.Text("mode") == "decode";
  for (const auto& [axis, has] :
       {std::pair("mode", &variant.modes),
        std::pair("schedule", decodes ? &variant.schedules : nullptr),
        std::pair("scope", decodes ? nullptr : &variant.scopes),
        std::pair("energy", &variant.energies),
        std::pair("precision", &variant.precisions)}) {
    if (has == nullptr || cell.axes.at(axis).is_null() ||
        Contains(*has, cell.Text(axis))) {
      continue;
    }
    return fmt::format("{} {} is not one of variant {}'s: {}", axis,
                       cell.Text(axis), variant.name, fmt::join(*has, ", "));
  }
  return std::nullopt;
}

}  // namespace

void TakePeerVariant(const std::vector<PeerVariant>& variants, Cell& cell) {
  for (const PeerVariant& variant : variants) {
    if (variant.mechanism != cell.mechanism ||
        variant.name != cell.Text("variant")) {
      continue;
    }
    cell.is_peers = true;
    cell.peer_approximates = variant.approximates;
    if (!cell.skip_reason) cell.skip_reason = PeerSkipReason(variant, cell);
  }
}

PeerInfo ParsePeerInfo(const Json& answer, const AxisTable& table) {
  if (Member(answer, "protocol") != kPeerProtocol) {
    Refuse(fmt::format("protocol is {}, {} is wanted",
                       answer.at("protocol").dump(), kPeerProtocol));
  }
  PeerInfo info;
  info.name = TextOf(answer, "name");
  const Json& libraries = Member(answer, "libraries");
  if (!libraries.is_object()) Refuse("'libraries' is not an object");
  for (const auto& [library, version] : libraries.items()) {
    info.libraries[library] = TextOf(libraries, library);
  }
  const Json& variants = Member(answer, "variants");
  if (!variants.is_array() || variants.empty()) {
    Refuse("'variants' is not a list of variants");
  }
  for (const Json& item : variants) {
    info.variants.push_back(ParseVariant(item, table));
    const PeerVariant& added = info.variants.back();
    const auto same = std::count_if(
        info.variants.begin(), info.variants.end(),
        [&added](const PeerVariant& other) {
          return other.mechanism == added.mechanism && other.name == added.name;
        });
    if (same > 1) {
      Refuse(fmt::format("variant '{}' of {} is there twice", added.name,
                         added.mechanism));
    }
  }
  return info;
}

AxisTable WithVariantsOf(const PeerInfo& info, AxisTable table) {
  for (Axis& axis : table) {
    if (axis.name != "variant") continue;
    for (const PeerVariant& variant : info.variants) {
      if (Contains(axis.names, variant.name)) continue;
      axis.names.push_back(variant.name);
    }
  }
  return table;
}

}  // namespace attnbench
