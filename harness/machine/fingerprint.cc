#include "harness/machine/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/hash.h"

namespace attnbench {
namespace {

Json MemberOrNull(const Json& owner, const std::string& name) {
  return owner.contains(name) ? owner.at(name) : Json(nullptr);
}

void CompareValues(const std::string& field, const Json& a, const Json& b,
                   std::vector<FingerprintDifference>& differences);

void CompareMembers(const std::string& field, const Json& a, const Json& b,
                    std::vector<FingerprintDifference>& differences) {
  std::vector<std::string> names;
  for (const Json* owner : {&a, &b}) {
    for (const auto& [name, value] : owner->items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(name);
      }
    }
  }
  for (const std::string& name : names) {
    CompareValues(field + "." + name, MemberOrNull(a, name),
                  MemberOrNull(b, name), differences);
  }
}

void CompareValues(const std::string& field, const Json& a, const Json& b,
                   std::vector<FingerprintDifference>& differences) {
  if (a.is_object() && b.is_object()) {
    CompareMembers(field, a, b, differences);
  } else if (a != b) {
    differences.push_back({field, a, b});
  }
}

// The setups of a context's runs, each once.
std::vector<Json> DistinctSetups(const SweepContext& context) {
  std::vector<Json> all;
  for (const MeasuringRun& run : context.runs) {
    Json setup = SetupOf(context, run);
    if (std::find(all.begin(), all.end(), setup) == all.end()) {
      all.push_back(std::move(setup));
    }
  }
  if (all.empty()) all.push_back(ToJson<Setup>(context));
  return all;
}

// The value, or a list if there are several.
Json OneOrAll(const std::vector<Json>& values) {
  Json all = Json::array();
  for (const Json& value : values) {
    if (std::find(all.begin(), all.end(), value) == all.end()) {
      all.push_back(value);
    }
  }
  return all.size() == 1 ? Json(all[0]) : all;
}

}  // namespace

Json SetupOf(const Setup& context, const MeasuringRun& run) {
  Json setup = ToJson(context);
  if (!run.differs) return setup;
  for (const auto& [name, value] : *run.differs) setup[name] = value;
  return setup;
}

std::map<std::string, Json> DifferingMembers(const Setup& context,
                                             const Json& run) {
  std::map<std::string, Json> differing;
  for (const auto& one : SetupDifferences(ToJson(context), run)) {
    const std::string name = one.field.substr(0, one.field.find('.'));
    differing[name] = run.at(name);
  }
  return differing;
}

std::string FingerprintHash(const Setup& setup) {
  Fnv1a hash;
  hash.Add(ToJson(setup).dump());
  return hash.Hex();
}

std::vector<FingerprintDifference> SetupDifferences(const Json& a,
                                                    const Json& b) {
  std::vector<FingerprintDifference> differences;
  for (const auto& [name, of_a] : a.items()) {
    if (b.contains(name)) CompareValues(name, of_a, b.at(name), differences);
  }
  return differences;
}

std::vector<FingerprintDifference> FingerprintDifferences(
    const SweepContext& a, const SweepContext& b) {
  std::vector<Json> runs = DistinctSetups(a);
  const std::size_t num_of_a = runs.size();
  for (Json& setup : DistinctSetups(b)) runs.push_back(std::move(setup));
  // Compares each run with the first; a field without a difference has the
  // first's value.
  std::vector<std::vector<FingerprintDifference>> from_first;
  std::vector<FingerprintDifference> differences;
  const auto find = [](const auto& list, const std::string& field) {
    return std::find_if(list.begin(), list.end(),
                        [&](const auto& one) { return one.field == field; });
  };
  for (const Json& setup : runs) {
    from_first.push_back(SetupDifferences(runs[0], setup));
    for (const FingerprintDifference& one : from_first.back()) {
      if (find(differences, one.field) == differences.end()) {
        differences.push_back(one);
      }
    }
  }
  for (FingerprintDifference& difference : differences) {
    std::vector<Json> of_a, of_b;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto found = find(from_first[i], difference.field);
      (i < num_of_a ? of_a : of_b)
          .push_back(found == from_first[i].end() ? difference.a : found->b);
    }
    difference.a = OneOrAll(of_a);
    difference.b = OneOrAll(of_b);
  }
  return differences;
}

std::string DifferenceText(const SweepContext& before,
                           const SweepContext& now) {
  const auto differences = FingerprintDifferences(before, now);
  if (differences.empty()) return "";
  const FingerprintDifference& first = differences[0];
  return fmt::format("{} was {} and is {}", first.field, first.a.dump(),
                     first.b.dump());
}

}  // namespace attnbench
