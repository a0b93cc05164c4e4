#include "harness/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/error.h"
#include "harness/fingerprint.h"

namespace attnbench {
namespace {

// Whether points of a run with that context may be taken.
bool TakeContext(const Json& theirs, const Json& ours, Finished& finished) {
  const auto differences = FingerprintDifferences(theirs, ours);
  if (!differences.empty()) {
    const FingerprintDifference& first = differences[0];
    finished.difference = fmt::format("{} was {} and is {}", first.field,
                                      first.a.dump(), first.b.dump());
    return false;
  }
  if (!finished.context.has_value()) {
    finished.context = theirs;
  } else if (theirs.at("date") != finished.context->at("date")) {
    finished.resumed.insert(theirs.at("date").get<std::string>());
  }
  return true;
}

void TakePoint(const Json& record, const std::set<std::string>& wanted,
               bool may_take, Finished& finished) {
  const auto hash = record.at("point").get<std::string>();
  if (may_take && wanted.contains(hash)) {
    finished.points[hash] = record;
  } else {
    ++finished.num_others;
  }
}

}  // namespace

Json RunRecord(const Json& context, bool continues_result) {
  return {
      {"run", {{"context", context}, {"continues_result", continues_result}}}};
}

Json PointRecord(const std::string& hash, const Json& cells,
                 const Json& calibration) {
  return {{"point", hash}, {"cells", cells}, {"calibration", calibration}};
}

bool HasPoints(const JournalContents& journal) {
  return std::any_of(
      journal.records.begin(), journal.records.end(),
      [](const Json& record) { return record.contains("point"); });
}

bool ContinuesResult(const JournalContents& journal) {
  for (const Json& record : journal.records) {
    if (record.contains("run")) return record["run"].at("continues_result");
  }
  return true;
}

void TakeResult(const Json& document, const std::string& path,
                const std::set<std::string>& wanted, const Json& context,
                Finished& finished) {
  try {
    if (document.at("kind") != "sweep") {
      throw UserError(path,
                      "is no result of a sweep, so no run of one can go "
                      "on from it; --force replaces it");
    }
    const Json& theirs = document.at("context");
    const bool may_take = TakeContext(theirs, context, finished);
    for (const Json& date : theirs.value("resumed", Json::array())) {
      finished.resumed.insert(date.get<std::string>());
    }
    std::map<std::string, Json> records;
    for (const Json& cell : document.at("cells")) {
      const auto hash = cell.at("point").get<std::string>();
      records.try_emplace(hash, PointRecord(hash, Json::array(), nullptr));
      records[hash]["cells"].push_back(cell);
    }
    for (const Json& entry : theirs.at("calibration")) {
      const auto record = records.find(entry.at("point").get<std::string>());
      if (record != records.end()) record->second["calibration"] = entry;
    }
    for (const auto& [hash, record] : records) {
      TakePoint(record, wanted, may_take, finished);
    }
  } catch (const Json::exception&) {
    throw UserError(path,
                    "is no result of a sweep as this program writes it, "
                    "so no run can go on from it; --force replaces it");
  }
}

void TakeJournal(const JournalContents& journal,
                 const std::set<std::string>& wanted, const Json& context,
                 Finished& finished) {
  // Where the line of the run is spoiled, the hash vouches for its points.
  bool may_take = true;
  for (const Json& record : journal.records) {
    if (record.contains("run")) {
      may_take = TakeContext(record["run"].at("context"), context, finished);
    } else {
      TakePoint(record, wanted, may_take, finished);
    }
  }
}

}  // namespace attnbench
