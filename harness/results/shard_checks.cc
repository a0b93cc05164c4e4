#include "harness/results/shard_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "harness/base/error.h"
#include "harness/machine/fingerprint.h"

namespace attnbench {
namespace {

const Json& FieldOf(const ResultDocument& document,
                    const Json::json_pointer& field) {
  if (!document.json.contains(field)) {
    throw UserError(document.path,
                    fmt::format("has no {}", field.to_string().substr(1)));
  }
  return document.json.at(field);
}

}  // namespace

void CheckSameRun(const ResultDocument& first, const ResultDocument& other,
                  std::initializer_list<const char*> fields) {
  for (const char* text : fields) {
    const Json::json_pointer field(text);
    const Json& a = FieldOf(first, field);
    const Json& b = FieldOf(other, field);
    if (a == b) continue;
    // The message shows no list: it is too long.
    throw UserError(
        other.path,
        fmt::format("is no part of the run of {}: it has {}", first.path,
                    a.is_array() ? fmt::format("the {} of another sweep, build "
                                               "or setting",
                                               field.back())
                                 : fmt::format("{} {}, not {}", field.back(),
                                               b.dump(), a.dump())));
  }
}

std::vector<std::string> DifferenceTexts(const std::string& first_path,
                                         const Json& first, const Json& other) {
  std::vector<std::string> texts;
  for (const FingerprintDifference& difference :
       SetupDifferences(first, other)) {
    texts.push_back(fmt::format("{} is {}, in {} {}", difference.field,
                                difference.b.dump(), first_path,
                                difference.a.dump()));
  }
  return texts;
}

Shard ShardOf(const std::string& text, const std::string& where) {
  try {
    return ParseShard(text);
  } catch (const UserError& error) {
    throw UserError(where, error.what());
  }
}

std::string MissingShardsText(const std::set<std::int64_t>& there,
                              std::int64_t count) {
  std::vector<std::string> missing;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!there.contains(i)) missing.push_back(Shard{i, count}.Text());
  }
  if (missing.empty()) return "";
  return fmt::format("shard{} {} {} missing", missing.size() == 1 ? "" : "s",
                     fmt::join(missing, ", "),
                     missing.size() == 1 ? "is" : "are");
}

}  // namespace attnbench
