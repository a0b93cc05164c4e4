#include <fmt/format.h>

#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "harness/error.h"
#include "harness/exclusions.h"
#include "harness/json_file.h"
#include "harness/json_node.h"
#include "harness/sweep.h"

namespace attnbench {
namespace {

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

// Those members of an object that are axes.
void TakeAxes(const AxisTable& table, const Node& node,
              std::map<std::string, std::vector<Json>>& axes) {
  for (const Axis& axis : table) {
    if (!node.Has(axis.name)) continue;
    axes[axis.name] = ReadAxis(table, axis, node.Member(axis.name));
  }
}

void ReadAxes(const AxisTable& table, const Node& node,
              std::map<std::string, std::vector<Json>>& axes) {
  CheckObject(node, AxisNames(table));
  TakeAxes(table, node, axes);
}

// The name of a mechanism that there is.
std::string ReadMechanism(const Node& node) {
  std::string name = ReadText(node);
  const std::vector<std::string> valid = MechanismNames();
  if (!Contains(valid, name)) {
    throw UserError(node.where, UnknownName("mechanism", name, valid));
  }
  return name;
}

Alternative ReadAlternative(const AxisTable& table, const Node& node) {
  std::vector<std::string> keys = AxisNames(table);
  keys.insert(keys.begin(), {"mechanism", "options"});
  CheckObject(node, keys);
  if (!node.Has("mechanism")) throw UserError(node.where, "has no mechanism");
  Alternative alternative;
  alternative.mechanism = ReadMechanism(node.Member("mechanism"));
  TakeAxes(table, node, alternative.axes);
  if (node.Has("options")) {
    alternative.options = ReadOptions(node.Member("options"));
  }
  return alternative;
}

Exclusion ReadExclusion(const AxisTable& table, const Node& node) {
  std::vector<std::string> keys = AxisNames(table);
  keys.insert(keys.begin(), "mechanism");
  CheckObject(node, keys);
  if (node.value.empty()) {
    throw UserError(node.where, "says nothing, which holds for every cell");
  }
  Exclusion exclusion;
  if (node.Has("mechanism")) {
    ForEachValue(node.Member("mechanism"), [&](const Node& item) {
      exclusion.mechanisms.push_back(ReadMechanism(item));
    });
  }
  TakeAxes(table, node, exclusion.axes);
  return exclusion;
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
  if (node.Has("processes")) {
    request.processes = static_cast<int>(
        ReadInteger(node.Member("processes"), 1, kMostProcesses));
  }
  if (node.Has("axes")) ReadAxes(table, node.Member("axes"), request.axes);
  if (!node.Has("alternatives")) return;
  request.alternatives.clear();
  ForEachObject(node.Member("alternatives"), [&](const Node& item) {
    request.alternatives.push_back(ReadAlternative(table, item));
  });
}

// The quick profile, where there is one: what it does not say is as in `full`.
std::optional<SweepRequest> ReadQuick(const AxisTable& table, const Node& file,
                                      const SweepRequest& full) {
  if (!file.Has("profiles")) return {};
  const Node profiles = file.Member("profiles");
  CheckObject(profiles, {"quick"});
  if (!profiles.Has("quick")) return {};
  const Node node = profiles.Member("quick");
  return WithProfile(table, full, node.value, node.where);
}

}  // namespace

SweepRequest WithProfile(const AxisTable& table, SweepRequest request,
                         const Json& profile, const std::string& where) {
  const Node node{profile, where};
  CheckObject(node,
              {"axes", "repetitions", "trials", "processes", "alternatives"});
  ReadCommon(table, node, request);
  return request;
}

SweepRequest ReadExperiment(const AxisTable& table, const std::string& path,
                            const std::string& profile) {
  return ReadExperiment(table, ReadJsonFile(path), path, profile);
}

SweepRequest ReadExperiment(const AxisTable& table, const Json& document,
                            const std::string& path,
                            const std::string& profile) {
  const Node file{document, path + ": "};
  CheckObject({document, path},
              {"name", "question", "source", "seed", "repetitions", "trials",
               "processes", "axes", "options", "alternatives", "exclusions",
               "profiles"});
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
  if (file.Has("exclusions")) {
    ForEachObject(file.Member("exclusions"), [&](const Node& item) {
      request.exclusions.push_back(ReadExclusion(table, item));
    });
  }
  const std::optional<SweepRequest> quick = ReadQuick(table, file, request);
  if (!request.exclusions.empty()) {
    std::vector<SweepRequest> profiles = {request};
    if (quick) profiles.push_back(*quick);
    CheckExclusions(table, profiles, file.where + "exclusions");
  }
  if (profile == "full") return request;
  if (!quick || profile != "quick") {
    throw UserError(file.where + "profiles",
                    fmt::format("there is no profile '{}'", profile));
  }
  return *quick;
}

}  // namespace attnbench
