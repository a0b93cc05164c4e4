#include "harness/fingerprint.h"

#include <algorithm>

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

}  // namespace

std::span<const ContextField> ContextFields() { return kFields; }

std::vector<FingerprintDifference> FingerprintDifferences(const Json& a,
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

}  // namespace attnbench
