#include "harness/merge.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "harness/error.h"
#include "harness/fingerprint.h"
#include "harness/run_parts.h"
#include "harness/shard.h"
#include "mechanisms/common/check.h"

namespace attnbench {
namespace {

const Json& ContextOf(const ResultDocument& result) {
  return result.json.at("context");
}

// Point -> the file that has it, and its cells in their order.
struct Part {
  const ResultDocument* result;
  std::vector<const Json*> cells;
};

std::map<std::string, Part> PartsOf(
    const std::vector<ResultDocument>& results) {
  std::map<std::string, Part> parts;
  for (const ResultDocument& result : results) {
    for (const Json& cell : result.json.at("cells")) {
      const auto point = cell.at("point").get<std::string>();
      Part& part = parts.try_emplace(point, Part{&result, {}}).first->second;
      if (part.result != &result) {
        throw UserError(
            result.path,
            fmt::format("has point {} ({}), which {} has too", point,
                        cell.at("mechanism").get<std::string>(),
                        part.result->path));
      }
      part.cells.push_back(&cell);
    }
  }
  return parts;
}

// Empty where the files are no shards, or not of one number of them.
std::string MissingShardsOf(const std::vector<ResultDocument>& results) {
  std::set<std::int64_t> there;
  std::int64_t count = 0;
  for (const ResultDocument& result : results) {
    const Json& text = ContextOf(result).at("shard");
    if (text.is_null()) return "";
    const Shard shard = ShardOf(text.get<std::string>(), result.path);
    if (count != 0 && shard.count != count) return "";
    count = shard.count;
    there.insert(shard.index);
  }
  return MissingShardsText(there, count);
}

std::string MissingText(const std::vector<ResultDocument>& results,
                        std::size_t missing, std::size_t all) {
  if (missing == 0) return "";
  const std::string shards = MissingShardsOf(results);
  return fmt::format("{} of {} points are missing{}{}", missing, all,
                     shards.empty() ? "" : "; ", shards);
}

void AppendOf(const ResultDocument& result, const char* field, Json& context) {
  for (const Json& text : ContextOf(result).at(field)) {
    context[field].push_back(result.path + ": " + text.get<std::string>());
  }
}

void AppendLimits(const Json& limits, Json& merged) {
  for (const Json& entry : limits) {
    bool is_there = false;
    for (const Json& other : merged) {
      is_there = is_there || (other.at("precision") == entry.at("precision") &&
                              other.at("threads") == entry.at("threads"));
    }
    if (!is_there) merged.push_back(entry);
  }
}

Json MergedContext(const std::vector<ResultDocument>& results,
                   const std::string& command, const std::string& missing) {
  Json context = ContextOf(results[0]);
  context["command"] = command;
  context["shard"] = nullptr;
  for (const char* list : {"warnings", "invalid_reasons", "limits"}) {
    context[list] = Json::array();
  }
  for (const ResultDocument& result : results) {
    AppendOf(result, "warnings", context);
    AppendOf(result, "invalid_reasons", context);
    AppendLimits(ContextOf(result).at("limits"), context["limits"]);
    for (const FingerprintDifference& difference :
         FingerprintDifferences(ContextOf(results[0]), ContextOf(result))) {
      context["warnings"].push_back(fmt::format(
          "{}: {} is {}, in {} {}", result.path, difference.field,
          difference.b.dump(), results[0].path, difference.a.dump()));
    }
  }
  if (!missing.empty()) context["invalid_reasons"].push_back(missing);
  context["valid"] = context["invalid_reasons"].empty();
  return context;
}

}  // namespace

Merged MergeResults(const std::vector<ResultDocument>& results,
                    const std::string& command) {
  ATTN_CHECK(!results.empty());
  for (const ResultDocument& result : results) {
    CheckSameRun(results[0], result,
                 {"/context/commit", "/context/build_id", "/context/seed",
                  "/context/points"});
  }
  const std::map<std::string, Part> parts = PartsOf(results);
  const auto points =
      ContextOf(results[0]).at("points").get<std::vector<std::string>>();
  Json cells = Json::array();
  for (const std::string& point : points) {
    const auto part = parts.find(point);
    if (part == parts.end()) continue;
    for (const Json* cell : part->second.cells) cells.push_back(*cell);
  }
  Merged merged;
  merged.missing =
      MissingText(results, points.size() - parts.size(), points.size());
  merged.document = {
      {"schema_version", results[0].json.at("schema_version")},
      {"kind", results[0].json.at("kind")},
      {"context", MergedContext(results, command, merged.missing)},
      {"cells", cells}};
  return merged;
}

}  // namespace attnbench
