#include "harness/merge.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "harness/error.h"
#include "harness/fingerprint.h"
#include "harness/roofline.h"
#include "harness/run_parts.h"
#include "harness/runs.h"
#include "harness/shard.h"
#include "mechanisms/common/check.h"

namespace attnbench {
namespace {

const Json& ContextOf(const ResultDocument& result) {
  return result.json.at("context");
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

// Its runs, with its name and with what each was measured with that the first
// file was not.
Json RunsOfPart(const ResultDocument& first, const ResultDocument& part) {
  Json runs = RunsOf(part.json);
  const Json of_first = FieldsOfRun(ContextOf(first), nullptr);
  for (Json& run : runs) {
    if (!run.contains("file")) run["file"] = part.path;
    // Those of the first file have all that there is to say.
    if (&part == &first) continue;
    const Json fields = FieldsOfRun(ContextOf(part), run);
    for (const std::string& text :
         DifferenceTexts(first.path, of_first, fields)) {
      run["warnings"].push_back(text);
    }
    run.erase("differs");
    const Json differs = DifferingFields(of_first, fields);
    if (!differs.empty()) run["differs"] = differs;
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
    CheckSameRun(results[0], result,
                 {"/context/commit", "/context/build_id", "/context/seed",
                  "/context/points"});
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
