#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "harness/error.h"
#include "harness/json_file.h"
#include "harness/sweep.h"

namespace attnbench {
namespace {

// A value of the document with the place that errors name.
struct Node {
  const Json& value;
  std::string where;

  Node Member(const std::string& key) const {
    return {value.at(key), where + (where.ends_with(": ") ? "" : ".") + key};
  }
  bool Has(const std::string& key) const { return value.contains(key); }
};

void CheckObject(const Node& node, const std::vector<std::string>& keys) {
  if (!node.value.is_object()) {
    throw UserError(node.where, "must be an object {...}");
  }
  const std::set<std::string> valid(keys.begin(), keys.end());
  for (const auto& [key, value] : node.value.items()) {
    if (!valid.contains(key)) {
      throw UserError(node.where, UnknownName("key", key, keys));
    }
  }
}

std::string ReadText(const Node& node) {
  if (!node.value.is_string() || node.value.get<std::string>().empty()) {
    throw UserError(node.where, "must be a text");
  }
  return node.value.get<std::string>();
}

std::int64_t ReadInteger(const Node& node, std::int64_t least,
                         std::int64_t greatest) {
  if (!node.value.is_number()) {
    throw UserError(node.where, fmt::format("must be a whole number from {} to "
                                            "{}",
                                            least, greatest));
  }
  return ParseInteger(node.value.dump(), least, greatest, node.where);
}

// Calls visit(element, place) for a value, or for each of a list of them.
template <class Visit>
void ForEachValue(const Node& node, const Visit& visit) {
  if (!node.value.is_array()) return visit(node);
  if (node.value.empty()) {
    throw UserError(node.where, "the list of values is empty");
  }
  for (std::size_t i = 0; i < node.value.size(); ++i) {
    visit(Node{node.value[i], fmt::format("{}[{}]", node.where, i)});
  }
}

std::vector<Json> ReadAxis(const AxisTable& table, const Axis& axis,
                           const Node& node) {
  std::vector<Json> values;
  ForEachValue(node, [&](const Node& item) {
    if (!item.value.is_string()) {
      values.push_back(CheckAxisValue(table, axis, item.value, item.where));
      return;
    }
    for (Json& value : ParseAxisValues(
             table, axis, item.value.get<std::string>(), item.where)) {
      values.push_back(std::move(value));
    }
  });
  return values;
}

OptionValue ReadOption(const Node& node) {
  const Json& value = node.value;
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_float()) return value.get<double>();
  if (value.is_number()) {
    return ReadInteger(node, std::numeric_limits<std::int64_t>::min(),
                       std::numeric_limits<std::int64_t>::max());
  }
  if (value.is_string()) return value.get<std::string>();
  throw UserError(node.where, "must be a number, a text, true or false");
}

std::map<std::string, std::vector<OptionValue>> ReadOptions(const Node& node) {
  if (!node.value.is_object()) {
    throw UserError(node.where, "must be an object {...}");
  }
  std::map<std::string, std::vector<OptionValue>> options;
  for (const auto& [key, value] : node.value.items()) {
    ForEachValue(node.Member(key), [&, &name = key](const Node& item) {
      options[name].push_back(ReadOption(item));
    });
  }
  return options;
}

void ReadAxes(const AxisTable& table, const Node& node,
              std::map<std::string, std::vector<Json>>& axes) {
  CheckObject(node, AxisNames(table));
  for (const Axis& axis : table) {
    if (!node.Has(axis.name)) continue;
    axes[axis.name] = ReadAxis(table, axis, node.Member(axis.name));
  }
}

Alternative ReadAlternative(const AxisTable& table, const Node& node) {
  std::vector<std::string> keys = AxisNames(table);
  keys.insert(keys.begin(), {"mechanism", "options"});
  CheckObject(node, keys);
  if (!node.Has("mechanism")) throw UserError(node.where, "has no mechanism");
  Alternative alternative;
  alternative.mechanism = ReadText(node.Member("mechanism"));
  const std::vector<std::string> valid = MechanismNames();
  if (std::find(valid.begin(), valid.end(), alternative.mechanism) ==
      valid.end()) {
    throw UserError(node.where + ".mechanism",
                    UnknownName("mechanism", alternative.mechanism, valid));
  }
  for (const Axis& axis : table) {
    if (!node.Has(axis.name)) continue;
    alternative.axes[axis.name] = ReadAxis(table, axis, node.Member(axis.name));
  }
  if (node.Has("options")) {
    alternative.options = ReadOptions(node.Member("options"));
  }
  return alternative;
}

// What the file and each of its profiles may say, into `request`, which keeps
// what is not said.
void ReadCommon(const AxisTable& table, const Node& node,
                SweepRequest& request) {
  if (node.Has("repetitions")) {
    request.repetitions = static_cast<int>(
        ReadInteger(node.Member("repetitions"), 1, kMostRepetitions));
  }
  if (node.Has("trials")) {
    request.trials =
        static_cast<int>(ReadInteger(node.Member("trials"), 1, kMostTrials));
  }
  if (node.Has("axes")) ReadAxes(table, node.Member("axes"), request.axes);
  if (!node.Has("alternatives")) return;
  const Node alternatives = node.Member("alternatives");
  if (!alternatives.value.is_array()) {
    throw UserError(alternatives.where, "must be a list [...]");
  }
  request.alternatives.clear();
  ForEachValue(alternatives, [&](const Node& item) {
    request.alternatives.push_back(ReadAlternative(table, item));
  });
}

// Wrong names are found whichever profile is asked for.
void ReadProfiles(const AxisTable& table, const Node& file,
                  const std::string& profile, SweepRequest& request) {
  const bool has_profiles = file.Has("profiles");
  if (has_profiles) {
    const Node profiles = file.Member("profiles");
    CheckObject(profiles, {"quick"});
    for (const auto& [name, value] : profiles.value.items()) {
      CheckObject(profiles.Member(name),
                  {"axes", "repetitions", "trials", "alternatives"});
    }
  }
  if (profile == "full") return;
  if (!has_profiles || !file.Member("profiles").Has(profile)) {
    throw UserError(file.where + "profiles",
                    fmt::format("there is no profile '{}'", profile));
  }
  ReadCommon(table, file.Member("profiles").Member(profile), request);
}

}  // namespace

SweepRequest ReadExperiment(const AxisTable& table, const std::string& path,
                            const std::string& profile) {
  const Json document = ReadJsonFile(path);
  const Node file{document, path + ": "};
  CheckObject({document, path},
              {"name", "question", "source", "seed", "repetitions", "trials",
               "axes", "options", "alternatives", "profiles"});
  SweepRequest request;
  if (!file.Has("name")) throw UserError(path, "has no name");
  request.name = ReadText(file.Member("name"));
  for (const char* key : {"question", "source"}) {
    if (file.Has(key)) ReadText(file.Member(key));
  }
  if (file.Has("seed")) {
    request.seed = static_cast<std::uint64_t>(ReadInteger(
        file.Member("seed"), 0, std::numeric_limits<std::int64_t>::max()));
  }
  if (file.Has("options")) {
    request.options = ReadOptions(file.Member("options"));
  }
  ReadCommon(table, file, request);
  ReadProfiles(table, file, profile, request);
  return request;
}

}  // namespace attnbench
