#include "harness/campaign/campaign.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/json_file.h"
#include "harness/base/printable.h"
#include "harness/campaign/journal.h"
#include "harness/campaign/point_hash.h"
#include "harness/campaign/progress.h"
#include "harness/campaign/resume.h"
#include "harness/machine/calibration.h"
#include "harness/machine/cpus.h"
#include "harness/machine/environment.h"
#include "harness/machine/fingerprint.h"
#include "harness/machine/load_watch.h"
#include "harness/machine/roofline.h"
#include "harness/machine/validity.h"
#include "harness/peer/files.h"
#include "harness/system/interrupt.h"
#include "harness/system/result_file.h"
#include "harness/system/temporary_folder.h"

namespace attnbench {
namespace {

void Tell(const std::string& text) {
  fmt::print(stderr, "attnbench: {}\n", Printable(text));
}

// The machine's limits for every precision and number of threads of these
// points' cells, together with the limits that are known already.
std::vector<MachineLimits> LimitsFor(const Sweep& sweep,
                                     std::vector<MachineLimits> limits) {
  std::set<std::pair<std::int64_t, Precision>> known;
  for (const MachineLimits& one : limits) {
    known.emplace(one.threads, one.precision);
  }
  std::set<std::pair<std::int64_t, Precision>> wanted;
  for (const Point& point : sweep.points) {
    for (const Cell& cell : point.cells) {
      if (cell.skip_reason) continue;
      wanted.emplace(cell.Int("threads"), cell.precision());
    }
  }
  for (const auto& one : wanted) {
    CheckThreads(static_cast<int>(one.first));
    if (known.contains(one) || WasInterrupted()) continue;
    limits.push_back(
        MeasureLimits(one.second, static_cast<int>(one.first), kQuickRoofline));
  }
  return limits;
}

// An unknown limit counts as lower.
bool IsLower(std::optional<std::int64_t> limit, std::int64_t now) {
  return !limit || *limit < now;
}

// A result that appears during a run that resumes nothing but a journal is
// somebody else's.
bool MayReplace(const CampaignOptions& options) {
  std::error_code none;
  return options.force ||
         (options.resume && std::filesystem::exists(options.output, none));
}

// Whether beginning anew would lose something of the journal.
bool WouldLose(const Journal& journal) {
  const JournalContents contents = journal.Contents();
  return contents.num_spoiled > 0 || HasPoints(contents);
}

class Campaign {
 public:
  Campaign(const Sweep& sweep, const Context& context,
           const CampaignOptions& options)
      : sweep_(sweep),
        options_(options),
        file_(options.output, MayReplace(options)),
        journal_(file_.target(), options.output),
        peer_(PeerIdentity(options.measurer.peer)) {
    static_cast<Context&>(own_context_) = context;
    finished_.limits = options.measurer.limits;
    // Another run may have written the result before we had the lock.
    static_cast<void>(ResultFile(options.output, MayReplace(options)));
    // The workers will need a temporary folder: a lack of one must show before
    // hours of measuring.
    static_cast<void>(TemporaryFolder());
    CheckWorkerProgram(options.measurer);
    for (const Point& point : sweep.points) hashes_.push_back(HashOf(point));
    wanted_ = options.shard.value_or(Shard{}).Indices(hashes_.size());
  }

  CampaignEnd Run() {
    TakeFinished();
    const std::vector<std::size_t> left = Left();
    if (left.empty() && result_is_whole_) {
      journal_.Remove();
      return {.nothing_to_do = true,
              .num_points = wanted_.size(),
              .result = std::move(result_)};
    }
    CatchInterrupts();
    if (!left.empty()) Measure(left);
    MeasureDriftedAgain();
    return Write();
  }

 private:
  std::string HashOf(const Point& point) const {
    return PointHash(sweep_, point, BuildId(), Plan().builds, peer_);
  }

  ProcessPlan Plan() const { return PlanOf(sweep_, options_.measurer); }

  bool ResultIsThere() const { return std::filesystem::exists(file_.target()); }

  // Takes what an earlier run has finished, where --resume asks for it.
  void TakeFinished() {
    if (!options_.resume) {
      if (!options_.force && WouldLose(journal_)) {
        throw UserError(options_.output,
                        "a run of it was not finished, and left " +
                            journal_.path() +
                            "; --resume goes on from there, --force begins "
                            "anew");
      }
      journal_.Clear();
      return;
    }
    const JournalContents journal = journal_.Contents();
    WantedPoints wanted;
    for (const std::size_t i : wanted_) {
      wanted[hashes_[i]] = &sweep_.points[i];
    }
    if (ResultIsThere() && ContinuesResult(journal)) {
      continues_result_ = true;
      result_ = ReadPrevious();
      TakeResult(*result_, options_.output, wanted, own_context_, finished_);
      CheckFinished(options_.output);
      // A file of a longer sweep or another shard is not the one wanted.
      const SweepContext& context = result_->context;
      result_is_whole_ = Left().empty() && context.points == hashes_ &&
                         context.shard == ShardText() &&
                         DriftedPoints(context.calibration).empty();
    }
    TakeJournal(journal, wanted, Plan(), own_context_, finished_);
    CheckFinished(journal_.path());
    // These points were measured after the result was written.
    if (HasPoints(journal)) result_is_whole_ = false;
    RefuseLosses();
    FindUnfinished();
    TellFinished(journal.num_spoiled);
  }

  // Reads the result that is already at the output path.
  SweepResult ReadPrevious() const {
    try {
      return SweepResultOf(ReadJsonFile(file_.target()), options_.output);
    } catch (const UserError& error) {
      throw UserError(fmt::format(
          "{}; no run can go on from it, --force replaces it", error.what()));
    }
  }

  // Checks the finished points, which were read from `path`.
  void CheckFinished(const std::string& path) const {
    for (const std::size_t i : wanted_) {
      const auto point = finished_.points.find(hashes_[i]);
      if (point == finished_.points.end()) continue;
      CheckPlanned(point->second, sweep_.points[i], path);
    }
  }

  // Finished points that this run does not want would be lost from the result.
  void RefuseLosses() const {
    const std::size_t num_others = finished_.others.size();
    if (num_others == 0) return;
    const char* const them = num_others == 1 ? "it" : "them";
    throw UserError(
        options_.output,
        fmt::format("{} point{} there {} not of this sweep, program and "
                    "machine{}, and --resume would lose {}; -o another file "
                    "keeps {}, --force begins anew",
                    num_others, num_others == 1 ? "" : "s",
                    num_others == 1 ? "is" : "are",
                    finished_.difference.empty()
                        ? ""
                        : " (" + finished_.difference + ")",
                    them, them));
  }

  // Whether a cell of a finished point hit a limit that is higher now.
  bool HasMoreTime(std::size_t i, const FinishedPoint& point) const {
    const MeasurerOptions& now = options_.measurer;
    for (std::size_t c = 0; c < point.cells.size(); ++c) {
      if (point.cells[c].status != CellStatus::kTimeout) continue;
      const attnbench::Run& run = finished_.runs[*point.runs.rbegin()];
      if (IsLower(run.cell_limit_s, now.cell_limit_s)) return true;
      // A peer's cell may have met either limit.
      if (sweep_.points[i].cells[c].is_peers &&
          IsLower(run.peer_limit_s, now.peer_limit_s)) {
        return true;
      }
    }
    return false;
  }

  bool IsComplete(std::size_t i) const {
    const auto point = finished_.points.find(hashes_[i]);
    return point != finished_.points.end() &&
           point->second.cells.size() == sweep_.points[i].cells.size();
  }

  // The points to measure again: those that somebody has edited, those with a
  // cell that hit a lower limit than today's, and those with a cell in error,
  // as what ended it (a lack of memory, a kill) may be over. What the gate
  // refused would be refused again.
  void FindUnfinished() {
    std::size_t num_timeouts = 0, num_errors = 0;
    for (const std::size_t i : wanted_) {
      const auto point = finished_.points.find(hashes_[i]);
      if (point == finished_.points.end()) continue;
      if (IsComplete(i)) {
        const bool has_more_time = HasMoreTime(i, point->second);
        const bool has_error = std::ranges::any_of(
            point->second.cells, [](const ResultCell& cell) {
              return cell.status == CellStatus::kError;
            });
        if (!has_more_time && !has_error) continue;
        ++(has_error ? num_errors : num_timeouts);
      }
      again_.insert(hashes_[i]);
      result_is_whole_ = false;
    }
    TellAgain(num_errors, "is in error");
    TellAgain(num_timeouts, options_.measurer.peer.empty()
                                ? "ended at a lower --cell-limit"
                                : "ended at a lower --cell-limit or "
                                  "--peer-limit");
  }

  void TellAgain(std::size_t num_points, const char* what) const {
    if (num_points == 0) return;
    Tell(fmt::format("{}: {} with a cell that {} {} measured again",
                     options_.output, Counted(num_points, "point"), what,
                     num_points == 1 ? "is" : "are"));
  }

  void TellFinished(std::size_t num_spoiled) const {
    if (num_spoiled > 0) {
      Tell(fmt::format(
          "{}: {} line{} torn or damaged; what stood there is "
          "measured again",
          journal_.path(), num_spoiled, num_spoiled == 1 ? " is" : "s are"));
    }
    const std::vector<std::size_t> left = Left();
    const auto begun = std::ranges::count_if(
        left, [this](std::size_t i) { return Processes(i) > 0; });
    Tell(fmt::format(
        "{}: {} of {} points are there{}", options_.output,
        wanted_.size() - left.size(), wanted_.size(),
        begun == 0
            ? ""
            : fmt::format(", and {} that not all processes have measured",
                          begun)));
  }

  // How many processes have measured point i.
  std::int64_t Processes(std::size_t i) const {
    const auto point = finished_.points.find(hashes_[i]);
    if (point == finished_.points.end() || again_.contains(hashes_[i])) {
      return 0;
    }
    return point->second.Processes(sweep_.processes);
  }

  std::vector<std::size_t> Left() const {
    std::vector<std::size_t> left;
    for (const std::size_t i : wanted_) {
      if (Processes(i) < sweep_.processes) left.push_back(i);
    }
    return left;
  }

  std::optional<std::string> ShardText() const {
    if (!options_.shard) return {};
    return options_.shard->Text();
  }

  // Begins this run, before the first of its points, which are those of `rest`.
  void Begin(const Sweep& rest) {
    if (has_begun_) return;
    has_begun_ = true;
    load_watch_ = BeginWatch(own_context_);
    finished_.limits = LimitsFor(rest, std::move(finished_.limits));
    own_context_.limits = finished_.limits;
    journal_.Append({.run = RunRecord{own_context_, continues_result_}});
    finished_.runs.push_back(OwnRun());
  }

  // Measures until all is done or the user interrupts. What the machine does in
  // the course of hours is in the processes of every point.
  void Measure(const std::vector<std::size_t>& left) {
    Sweep rest = sweep_;
    rest.points.clear();
    for (const std::size_t i : left) rest.points.push_back(sweep_.points[i]);
    Begin(rest);
    MeasurerOptions measurer_options = options_.measurer;
    measurer_options.limits = finished_.limits;
    std::vector<std::int64_t> done;
    for (const std::size_t i : left) done.push_back(Processes(i));
    Progress progress(rest, done, stderr, isatty(STDERR_FILENO) == 1);
    Measurer measurer(sweep_, measurer_options);
    for (const auto& [process, n] : progress.steps()) {
      const std::size_t i = left[n];
      if (Processes(i) > process) {  // all of its cells have failed since
        progress.FinishPoint({});
        continue;
      }
      if (!MeasurePoint(i, process, measurer, progress)) return;
      if (journal_.IsRemoved() && !Left().empty()) {
        Tell(journal_.path() +
             ": somebody has removed it; the run ends with what it has");
        return;
      }
    }
    measurer.Finish();
  }

  // Once all is done, gives the points at which the clock was another one a
  // second chance. A run does that once; where one is stopped meanwhile, the
  // next finds for itself which points are left.
  void MeasureDriftedAgain() {
    if (!Left().empty() || WasInterrupted()) return;
    const std::vector<Calibration> calibration = CalibrationOfPoints();
    again_ = DriftedPoints(calibration);
    if (again_.empty()) return;
    Tell(fmt::format(
        "{}: the processor's clock drifted by {:.1f} % between points; {} of "
        "{} {} measured again",
        options_.output, 100 * DriftOf(calibration).between_points,
        again_.size(), wanted_.size(), again_.size() == 1 ? "is" : "are"));
    Measure(Left());
  }

  // False if the user interrupts.
  bool MeasurePoint(std::size_t i, int process, Measurer& measurer,
                    Progress& progress) {
    if (WasInterrupted()) return false;
    std::span<const ResultCell> before;
    if (process > 0) before = finished_.points.at(hashes_[i]).cells;
    const auto measured =
        measurer.Measure(i, process, before,
                         [&progress](double share) { progress.Tick(share); });
    if (!measured) return false;
    CheckInputsUnchanged(i);
    Finish(i, process, *measured);
    progress.FinishPoint(measured->cells);
    return true;
  }

  // A worker reads the file of a workload when it begins a point, and starts a
  // peer more than once.
  void CheckInputsUnchanged(std::size_t i) const {
    const Point& point = sweep_.points[i];
    const bool is_peers = PeerIdentity(options_.measurer.peer) != peer_;
    if (!is_peers && HashOf(point) == hashes_[i]) return;
    throw UserError(
        is_peers ? "--peer" : point.axes.at("workload").text(),
        fmt::format("was changed while it was measured; undo that and "
                    "--resume goes on from {}, --force begins anew",
                    journal_.path()));
  }

  attnbench::Run OwnRun() const {
    const MeasurerOptions& measurer = options_.measurer;
    std::optional<std::int64_t> peer_limit_s;
    if (!measurer.peer.empty()) peer_limit_s = measurer.peer_limit_s;
    return RunOf(own_context_, measurer.cell_limit_s, peer_limit_s);
  }

  // This run is the last one of `runs`.
  void Finish(std::size_t i, int process, const MeasuredPoint& measured) {
    const std::string& hash = hashes_[i];
    FinishedPoint part = PartOf(measured, hash, process, sweep_.processes);
    part.runs = {finished_.runs.size() - 1};
    // The run's entry is updated here, as this may be its last point.
    LookAgain(load_watch_, /*calibration=*/{}, own_context_);
    finished_.runs.back() = OwnRun();
    if (!journal_.IsRemoved()) {
      journal_.Append(
          {.point = PointRecord{hash, process, part.cells, part.calibration,
                                finished_.runs.back(),
                                FingerprintHash(own_context_)}});
    }
    FinishedPoint& point = finished_.points[hash];
    if (process == 0) point = {};
    point.Add(part, sweep_.points[i], Plan());
    again_.erase(hash);
  }

  // The runs that measured finished points; this run where no points are
  // wanted.
  std::vector<attnbench::Run> Runs() const {
    std::vector<attnbench::Run> runs = finished_.runs;
    for (const std::size_t i : wanted_) {
      const auto point = finished_.points.find(hashes_[i]);
      if (point == finished_.points.end()) continue;
      for (const std::size_t run : point->second.runs) {
        runs[run].points.push_back(hashes_[i]);
      }
    }
    std::erase_if(runs, [](const auto& run) { return run.points.empty(); });
    if (runs.empty()) runs.push_back(OwnRun());
    return runs;
  }

  std::vector<Calibration> CalibrationOfPoints() const {
    std::vector<Calibration> calibration;
    for (const std::size_t i : wanted_) {
      const auto point = finished_.points.find(hashes_[i]);
      if (point == finished_.points.end() || !point->second.calibration) {
        continue;
      }
      calibration.push_back(*point->second.calibration);
    }
    return calibration;
  }

  // The context is the first run's.
  SweepResult Result() const {
    SweepResult result;
    SweepContext& context = result.context;
    context = finished_.context.value_or(own_context_);
    context.command = own_context_.command;
    context.points = hashes_;
    context.cells_of_points.clear();
    for (const Point& point : sweep_.points) {
      context.cells_of_points.push_back(std::ssize(point.cells));
    }
    context.processes = sweep_.processes;
    context.shard = ShardText();
    context.limits = finished_.limits;
    context.runs = Runs();
    context.date = context.runs[0].date;
    context.calibration = CalibrationOfPoints();
    for (const std::size_t i : wanted_) {
      const auto point = finished_.points.find(hashes_[i]);
      if (point == finished_.points.end()) continue;
      const std::vector<ResultCell>& cells = point->second.cells;
      result.cells.insert(result.cells.end(), cells.begin(), cells.end());
    }
    const auto num_points = std::ranges::count_if(wanted_, [this](auto i) {
      const auto point = finished_.points.find(hashes_[i]);
      return IsComplete(i) &&
             point->second.Processes(sweep_.processes) == sweep_.processes;
    });
    SetValidityOfRuns(
        num_points == std::ssize(wanted_)
            ? ""
            : fmt::format(
                  "interrupted: {} of {} points{}; --resume goes on",
                  num_points, wanted_.size(),
                  sweep_.processes == 1
                      ? ""
                      : fmt::format(" were measured by all {} processes",
                                    sweep_.processes)),
        PageFaultWarnings(result.cells), context);
    return result;
  }

  CampaignEnd Write() {
    const std::size_t num_left = Left().size();
    CampaignEnd end = {.interrupted = num_left > 0,
                       .num_points = wanted_.size() - num_left};
    if (end.interrupted && finished_.points.empty()) {
      journal_.Clear();
      return end;
    }
    end.result = Result();
    try {
      file_.Write(ToJson(*end.result));
    } catch (const UserError& error) {
      throw UserError(
          fmt::format("{}; {}", error.what(),
                      journal_.IsRemoved()
                          ? "the journal is gone, too, and with it what was "
                            "measured"
                          : "all that was measured is in " + journal_.path() +
                                "; once the place is free, --resume goes on "
                                "from there"));
    }
    journal_.Remove();
    return end;
  }

  const Sweep& sweep_;
  const CampaignOptions& options_;
  SweepContext own_context_;  // the context of this run
  LoadWatch load_watch_;
  const ResultFile file_;
  Journal journal_;
  const std::string peer_;           // its identity
  std::vector<std::string> hashes_;  // the hashes of all points
  std::vector<std::size_t> wanted_;  // the points of the shard
  Finished finished_;
  // These points of `finished_` are to be measured again. They stay there until
  // the first process has done so, as an interrupted run has nothing better.
  std::set<std::string> again_;
  // The result at the output path, if this run goes on from it.
  std::optional<SweepResult> result_;
  bool has_begun_ = false;  // this run is the last one of `finished_`
  bool continues_result_ = false;
  bool result_is_whole_ = false;
};

}  // namespace

CampaignEnd RunCampaign(const Sweep& sweep, const Context& context,
                        const CampaignOptions& options) {
  return Campaign(sweep, context, options).Run();
}

}  // namespace attnbench
