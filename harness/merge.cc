#include "harness/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <utility>

#include "harness/error.h"
#include "harness/fingerprint.h"
#include "harness/roofline.h"
#include "harness/runs.h"
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

// A point: the file that has it, its cells in their order, and its entry of
// `calibration`, where it has one.
struct Part {
  const ResultDocument* result;
  std::vector<const Json*> cells = {};
  const Json* calibration = nullptr;
};

std::map<std::string, Part> PartsOf(
    const std::vector<ResultDocument>& results) {
  std::map<std::string, Part> parts;
  for (const ResultDocument& result : results) {
    for (const Json& cell : result.json.at("cells")) {
      const auto point = cell.at("point").get<std::string>();
      Part& part = parts.try_emplace(point, Part{&result}).first->second;
      if (part.result != &result) {
        throw UserError(
            result.path,
            fmt::format("has point {} ({}), which {} has too", point,
                        cell.at("mechanism").get<std::string>(),
                        part.result->path));
      }
      part.cells.push_back(&cell);
    }
    for (const Json& entry : ContextOf(result).at("calibration")) {
      const auto part = parts.find(entry.at("point").get<std::string>());
      if (part == parts.end() || part->second.result != &result) continue;
      part->second.calibration = &entry;
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

// Its runs, with its name and with what it was measured with that the first
// was not.
Json RunsOfPart(const ResultDocument& first, const ResultDocument& part) {
  Json runs = RunsOf(part.json);
  const auto differences =
      FingerprintDifferences(ContextOf(first), ContextOf(part));
  for (Json& run : runs) {
    if (!run.contains("file")) run["file"] = part.path;
    for (const FingerprintDifference& difference : differences) {
      run["warnings"].push_back(
          fmt::format("{} is {}, in {} {}", difference.field,
                      difference.b.dump(), first.path, difference.a.dump()));
    }
  }
  return runs;
}

// Without what only the merged points tell.
Json MergedContext(const std::vector<ResultDocument>& results,
                   const std::string& command) {
  Json context = ContextOf(results[0]);
  context["command"] = command;
  context["shard"] = nullptr;
  for (const char* list : {"limits", "runs", "calibration"}) {
    context[list] = Json::array();
  }
  for (const ResultDocument& result : results) {
    AddLimits(ContextOf(result).at("limits"), context["limits"]);
    for (Json& run : RunsOfPart(results[0], result)) {
      context["runs"].push_back(std::move(run));
    }
  }
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
  Json context = MergedContext(results, command);
  Json cells = Json::array();
  for (const std::string& point : points) {
    const auto found = parts.find(point);
    if (found == parts.end()) continue;
    const Part& part = found->second;
    for (const Json* cell : part.cells) cells.push_back(*cell);
    if (part.calibration != nullptr) {
      context["calibration"].push_back(*part.calibration);
    }
  }
  Merged merged;
  merged.missing =
      MissingText(results, points.size() - parts.size(), points.size());
  JudgeRuns(merged.missing, context);
  merged.document = {{"schema_version", results[0].json.at("schema_version")},
                     {"kind", results[0].json.at("kind")},
                     {"context", std::move(context)},
                     {"cells", std::move(cells)}};
  return merged;
}

}  // namespace attnbench
