#include "harness/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "harness/error.h"
#include "harness/fingerprint.h"
#include "mechanisms/common/check.h"

namespace attnbench {
namespace {

const Json& ContextOf(const ResultDocument& result) {
  return result.json.at("context");
}

// What says that two files are parts of one run.
void CheckSameSweep(const ResultDocument& first, const ResultDocument& other) {
  for (const char* field : {"commit", "build_id", "seed", "points"}) {
    const Json& a = ContextOf(first).at(field);
    const Json& b = ContextOf(other).at(field);
    if (a == b) continue;
    const std::string what =
        a.is_array() ? "the points of another sweep, build or setting"
                     : fmt::format("{} {}", field, b.dump());
    throw UserError(
        other.path,
        fmt::format("is no part of the run of {}: it has {}{}", first.path,
                    what, a.is_array() ? "" : ", not " + a.dump()));
  }
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

// The shards that none of the files is; empty where they are no shards.
std::vector<std::string> AbsentShards(
    const std::vector<ResultDocument>& results) {
  std::set<std::string> there;
  std::size_t count = 0;
  for (const ResultDocument& result : results) {
    const Json& shard = ContextOf(result).at("shard");
    if (shard.is_null()) return {};
    const auto text = shard.get<std::string>();
    there.insert(text);
    const std::size_t of = std::stoul(text.substr(text.find('/') + 1));
    if (count != 0 && of != count) return {};
    count = of;
  }
  std::vector<std::string> absent;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string shard = fmt::format("{}/{}", i, count);
    if (there.count(shard) == 0) absent.push_back(shard);
  }
  return absent;
}

std::string MissingText(const std::vector<ResultDocument>& results,
                        std::size_t missing, std::size_t all) {
  if (missing == 0) return "";
  std::string text = fmt::format("{} of {} points are missing", missing, all);
  const std::vector<std::string> absent = AbsentShards(results);
  if (!absent.empty()) {
    text +=
        fmt::format("; shards that are not there: {}", fmt::join(absent, ", "));
  }
  return text;
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
    CheckSameSweep(results[0], result);
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
