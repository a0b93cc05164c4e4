#include "harness/campaign.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "harness/calibration.h"
#include "harness/environment.h"
#include "harness/error.h"
#include "harness/interrupt.h"
#include "harness/journal.h"
#include "harness/json_file.h"
#include "harness/point_hash.h"
#include "harness/progress.h"
#include "harness/result_file.h"
#include "harness/result_schema.h"
#include "harness/resume.h"
#include "harness/roofline.h"

namespace attnbench {
namespace {

void Tell(const std::string& text) {
  fmt::print(stderr, "attnbench: {}\n", text);
}

// The machine's, for every precision and number of threads that a cell of these
// points has, with those that are known already.
Json LimitsFor(const Sweep& sweep, Json limits) {
  std::set<std::pair<std::int64_t, std::string>> known;
  for (const Json& one : limits)
    known.emplace(one["threads"], one["precision"]);
  std::set<std::pair<std::int64_t, std::string>> wanted;
  for (const Point& point : sweep.points) {
    for (const Cell& cell : point.cells) {
      if (cell.skip_reason) continue;
      wanted.emplace(cell.Int("threads"), cell.Text("precision"));
    }
  }
  for (const auto& one : wanted) {
    if (known.contains(one) || WasInterrupted()) continue;
    limits.push_back(ToJson(MeasureLimits(
        one.second, static_cast<int>(one.first), kQuickRoofline)));
  }
  return limits;
}

// That a cell kept busy.
int MostThreads(const Json& cells) {
  int most = 0;
  for (const Json& cell : cells) {
    if (cell.at("status") == "skipped") continue;
    most = std::max(most, cell.at("threads").get<int>());
  }
  return most;
}

class Campaign {
 public:
  Campaign(const AxisTable& table, const Sweep& sweep, Json context,
           const CampaignOptions& options)
      : table_(table),
        sweep_(sweep),
        options_(options),
        context_(std::move(context)),
        file_(options.output, options.force || options.resume),
        journal_(file_.target(), options.output) {
    // Another run may have written the result before we had the lock.
    static_cast<void>(
        ResultFile(options.output, options.force || options.resume));
    for (std::size_t i = 0; i < sweep.points.size(); ++i) {
      hashes_.push_back(PointHash(table, sweep, i, BuildId()));
      if (!options.shard || options.shard->Has(i)) wanted_.push_back(i);
    }
  }

  CampaignEnd Run() {
    TakeFinished();
    const std::vector<std::size_t> left = Left();
    if (left.empty() && result_is_whole_) {
      if (finished_.num_others == 0) journal_.Remove();
      return {.nothing_to_do = true,
              .num_points = wanted_.size(),
              .document = std::move(result_)};
    }
    CompleteContext();
    CatchInterrupts();
    if (!left.empty()) Measure(left);
    return Write();
  }

 private:
  bool ResultIsThere() const { return std::filesystem::exists(file_.target()); }

  // What an earlier run has done, if that is to be taken.
  void TakeFinished() {
    const JournalContents& journal = journal_.contents();
    if (!options_.resume) {
      if (HasPoints(journal) && !options_.force) {
        throw UserError(options_.output,
                        "a run of it was not finished, and left " +
                            journal_.path() +
                            "; --resume goes on from there, --force begins "
                            "anew");
      }
      journal_.Clear();
      return;
    }
    std::set<std::string> wanted;
    for (const std::size_t i : wanted_) wanted.insert(hashes_[i]);
    if (ResultIsThere() && ContinuesResult(journal)) {
      continues_result_ = true;
      result_ = ReadJsonFile(file_.target());
      TakeResult(result_, options_.output, wanted, context_, finished_);
      // Of a longer sweep or another shard it is not the file that is wanted.
      const Json& context = result_.at("context");
      result_is_whole_ = finished_.points.size() == wanted.size() &&
                         context.value("points", Json()) == Json(hashes_) &&
                         context.value("shard", Json("?")) == ShardJson();
    }
    TakeJournal(journal, wanted, context_, finished_);
    DropIncomplete();
    TellFinished();
  }

  // A file that somebody has edited.
  void DropIncomplete() {
    for (const std::size_t i : wanted_) {
      const auto point = finished_.points.find(hashes_[i]);
      if (point == finished_.points.end()) continue;
      if (point->second.at("cells").size() == sweep_.points[i].cells.size()) {
        continue;
      }
      finished_.points.erase(point);
      result_is_whole_ = false;
    }
  }

  void TellFinished() const {
    const std::size_t num_spoiled = journal_.contents().num_spoiled;
    if (num_spoiled > 0) {
      Tell(fmt::format(
          "{}: {} line{} torn or damaged; what stood there is "
          "measured again",
          journal_.path(), num_spoiled, num_spoiled == 1 ? " is" : "s are"));
    }
    const std::string others = fmt::format(
        "{} point{} there {} not of this sweep, program and machine{}",
        finished_.num_others, finished_.num_others == 1 ? "" : "s",
        finished_.num_others == 1 ? "is" : "are",
        finished_.difference.empty() ? "" : ": " + finished_.difference);
    if (finished_.points.empty() && finished_.num_others > 0) {
      throw UserError(options_.output,
                      "--resume finds nothing to go on from: " + others +
                          "; --force begins anew");
    }
    if (finished_.num_others > 0) {
      Tell(fmt::format("{}: {}, and {} left out", options_.output, others,
                       finished_.num_others == 1 ? "is" : "are"));
    }
    Tell(fmt::format("{}: {} of {} points are there", options_.output,
                     finished_.points.size(), wanted_.size()));
  }

  std::vector<std::size_t> Left() const {
    std::vector<std::size_t> left;
    for (const std::size_t i : wanted_) {
      if (!finished_.points.contains(hashes_[i])) left.push_back(i);
    }
    return left;
  }

  // The first run's, where there was one: its date and its load are those of
  // its points.
  void CompleteContext() {
    const std::string date = context_.at("date");
    const Json command = context_.at("command");
    if (finished_.context) {
      context_ = *finished_.context;
      context_["command"] = command;
      finished_.resumed.insert(date);
    }
    if (!finished_.resumed.empty()) context_["resumed"] = finished_.resumed;
    context_["points"] = hashes_;
    context_["shard"] = ShardJson();
  }

  Json ShardJson() const {
    return options_.shard ? Json(options_.shard->Text()) : Json(nullptr);
  }

  // Until all is done or the user interrupts.
  void Measure(const std::vector<std::size_t>& left) {
    Sweep rest = sweep_;
    rest.points.clear();
    for (const std::size_t i : left) rest.points.push_back(sweep_.points[i]);
    MeasurerOptions measurer_options = options_.measurer;
    measurer_options.limits =
        LimitsFor(rest, context_.value("limits", Json::array()));
    context_["limits"] = measurer_options.limits;
    journal_.Append(RunRecord(context_, continues_result_));
    Progress progress(table_, rest, stderr, isatty(STDERR_FILENO) == 1);
    Measurer measurer(table_, sweep_, measurer_options);
    for (const std::size_t i : left) {
      std::optional<MeasuredPoint> measured;
      if (!WasInterrupted()) {
        measured = measurer.Measure(
            i, [&progress](double share) { progress.Tick(share); });
      }
      if (!measured) return;
      Finish(hashes_[i], *measured);
      progress.FinishPoint(measured->cells);
    }
    measurer.Finish();
  }

  void Finish(const std::string& hash, const MeasuredPoint& measured) {
    Json cells = Json::array();
    for (Json cell : measured.cells) {
      cell["point"] = hash;
      cells.push_back(std::move(cell));
    }
    // Where no cell came through there was nobody to look at the clock.
    const Json calibration =
        measured.calibration_ns.empty()
            ? Json(nullptr)
            : CalibrationJson(hash, measured.calibration_ns);
    finished_.points[hash] = PointRecord(hash, cells, calibration);
    journal_.Append(finished_.points[hash]);
  }

  Json Document() {
    Json cells = Json::array();
    Json calibration = Json::array();
    for (const std::size_t i : wanted_) {
      const auto point = finished_.points.find(hashes_[i]);
      if (point == finished_.points.end()) continue;
      for (const Json& cell : point->second["cells"]) cells.push_back(cell);
      const Json& entry = point->second["calibration"];
      if (!entry.is_null()) calibration.push_back(entry);
    }
    if (!context_.contains("limits")) context_["limits"] = Json::array();
    context_["calibration"] = std::move(calibration);
    FinishContext(MostThreads(cells), context_);
    if (finished_.points.size() < wanted_.size()) {
      context_["valid"] = false;
      context_["invalid_reasons"].push_back(
          fmt::format("interrupted: {} of {} points; --resume goes on",
                      finished_.points.size(), wanted_.size()));
    }
    return {{"schema_version", kSchemaVersion},
            {"kind", "sweep"},
            {"context", context_},
            {"cells", std::move(cells)}};
  }

  CampaignEnd Write() {
    CampaignEnd end = {.interrupted = finished_.points.size() < wanted_.size(),
                       .num_points = finished_.points.size()};
    if (end.interrupted && end.num_points == 0) {
      journal_.Clear();
      return end;
    }
    end.document = Document();
    try {
      file_.Write(end.document);
    } catch (const UserError& error) {
      throw UserError(
          fmt::format("{}; all that was measured is in {}: make "
                      "room and --resume",
                      error.what(), journal_.path()));
    }
    journal_.Remove();
    return end;
  }

  const AxisTable& table_;
  const Sweep& sweep_;
  const CampaignOptions& options_;
  Json context_;
  const ResultFile file_;
  Journal journal_;
  std::vector<std::string> hashes_;  // of all points
  std::vector<std::size_t> wanted_;  // those of the shard
  Finished finished_;
  Json result_;  // the file that is there, where it is gone on with
  bool continues_result_ = false;
  bool result_is_whole_ = false;
};

}  // namespace

CampaignEnd RunCampaign(const AxisTable& table, const Sweep& sweep,
                        Json context, const CampaignOptions& options) {
  return Campaign(table, sweep, std::move(context), options).Run();
}

}  // namespace attnbench
