#include "harness/fingerprint.h"

#include <algorithm>
#include <utility>

#include "harness/environment.h"

namespace attnbench {
namespace {

constexpr ContextField kFields[] = {
    {"commit", true},
    {"dirty", true},
    {"build_id", true},
    {"command", false},  // names of files, and which shard
    {"date", false},
    {"seed", true},
    {"compiler", true},
    {"flags", true},
    {"build_type", true},
    {"cpu", true},
    {"caches", true},
    {"cores", true},
    {"affinity", true},
    {"memory_bytes", false},  // decides what fits, not how long it takes; the
                              // kernel keeps some for itself, never the same
    {"kernel", true},
    {"governor", true},
    {"turbo", true},
    {"aslr", true},
    {"load", false},
    {"load_end", false},
    {"simd", true},
    {"openmp", true},
    {"libraries", true},
    {"points", false},  // what was measured, not with what
    {"shard", false},
    {"runs", false},
    {"limits", false},       // times
    {"calibration", false},  // times
    {"valid", false},
    {"invalid_reasons", false},
    {"warnings", false},
};

Json MemberOrNull(const Json& owner, const std::string& name) {
  return owner.contains(name) ? owner.at(name) : Json(nullptr);
}

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
    const Json of_a = MemberOrNull(a, name);
    const Json of_b = MemberOrNull(b, name);
    if (of_a != of_b) differences.push_back({field + "." + name, of_a, of_b});
  }
}

// Of two runs.
std::vector<FingerprintDifference> DifferencesOfRuns(const Json& a,
                                                     const Json& b) {
  std::vector<FingerprintDifference> differences;
  for (const ContextField& field : kFields) {
    if (!field.is_compared) continue;
    const Json of_a = MemberOrNull(a, field.name);
    const Json of_b = MemberOrNull(b, field.name);
    if (of_a.is_object() && of_b.is_object()) {
      CompareMembers(field.name, of_a, of_b, differences);
    } else if (of_a != of_b) {
      differences.push_back({field.name, of_a, of_b});
    }
  }
  return differences;
}

// What the runs of a context were measured with, each once.
std::vector<Json> DistinctFields(const Json& context) {
  std::vector<Json> all;
  const Json runs = MemberOrNull(context, "runs");
  for (const Json& run : runs.is_array() ? runs : Json::array()) {
    Json fields = FieldsOfRun(context, run);
    if (std::find(all.begin(), all.end(), fields) == all.end()) {
      all.push_back(std::move(fields));
    }
  }
  if (all.empty()) all.push_back(FieldsOfRun(context, nullptr));
  return all;
}

// The value, or a list where there are several.
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

std::span<const ContextField> ContextFields() { return kFields; }

Json FieldsOfRun(const Json& context, const Json& run) {
  Json fields = Json::object();
  for (const ContextField& field : kFields) {
    if (!field.is_compared || !context.contains(field.name)) continue;
    fields[field.name] = context.at(field.name);
  }
  if (!run.is_null() && run.contains("differs")) fields.update(run["differs"]);
  return fields;
}

Json DifferingFields(const Json& context, const Json& fields) {
  Json differing = Json::object();
  const Json own = FieldsOfRun(context, nullptr);
  for (const FingerprintDifference& one : DifferencesOfRuns(own, fields)) {
    const std::string name = one.field.substr(0, one.field.find('.'));
    differing[name] = MemberOrNull(fields, name);
  }
  return differing;
}

std::string FingerprintHash(const Json& context) {
  Fnv1a hash;
  for (const ContextField& field : kFields) {
    if (!field.is_compared) continue;
    hash.Add(MemberOrNull(context, field.name).dump() + "\n");
  }
  return hash.Hex();
}

std::vector<FingerprintDifference> FingerprintDifferences(const Json& a,
                                                          const Json& b) {
  std::vector<Json> runs = DistinctFields(a);
  const std::size_t num_of_a = runs.size();
  for (Json& fields : DistinctFields(b)) runs.push_back(std::move(fields));
  // Each against the first; where a run does not differ, it has the same.
  std::vector<std::vector<FingerprintDifference>> from_first;
  std::vector<FingerprintDifference> differences;
  const auto find = [](const auto& list, const std::string& field) {
    return std::find_if(list.begin(), list.end(),
                        [&](const auto& one) { return one.field == field; });
  };
  for (const Json& fields : runs) {
    from_first.push_back(DifferencesOfRuns(runs[0], fields));
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

}  // namespace attnbench
