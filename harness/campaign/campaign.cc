#include "harness/campaign/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/json_file.h"
#include "harness/base/printable.h"
#include "harness/campaign/counting.h"
#include "harness/campaign/journal.h"
#include "harness/campaign/point_hash.h"
#include "harness/campaign/progress.h"
#include "harness/campaign/state.h"
#include "harness/machine/calibration.h"
#include "harness/machine/cpus.h"
#include "harness/machine/environment.h"
#include "harness/machine/fingerprint.h"
#include "harness/machine/load_watch.h"
#include "harness/machine/roofline.h"
#include "harness/peer/files.h"
#include "harness/system/interrupt.h"
#include "harness/system/result_file.h"
#include "harness/system/temporary_folder.h"

namespace attnbench {
namespace {

void PrintNote(const std::string& text) {
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

std::optional<std::string> ShardText(const CampaignOptions& options) {
  if (!options.shard) return {};
  return options.shard->Text();
}

// Finished points that this run does not want would be lost from the result.
void RefuseLosses(const Finished& finished, const std::string& output) {
  const std::size_t num_others = finished.others.size();
  if (num_others == 0) return;
  const char* const them = num_others == 1 ? "it" : "them";
  throw UserError(
      output,
      fmt::format(
          "{} point{} there {} not of this sweep, program and "
          "machine{}, and --resume would lose {}; -o another file "
          "keeps {}, --force begins anew",
          num_others, num_others == 1 ? "" : "s",
          num_others == 1 ? "is" : "are",
          finished.difference.empty() ? "" : " (" + finished.difference + ")",
          them, them));
}

void PrintAgain(const CampaignOptions& options, std::size_t num_points,
                const char* what) {
  if (num_points == 0) return;
  PrintNote(fmt::format("{}: {} with a cell that {} {} measured again",
                        options.output, Counted(num_points, "point"), what,
                        num_points == 1 ? "is" : "are"));
}

void PrintFinished(const CampaignOptions& options, const SweepState& state,
                   const Unfinished& unfinished, const JournalContents& journal,
                   const std::string& journal_path) {
  PrintAgain(options, unfinished.num_errors, "is in error");
  PrintAgain(options, unfinished.num_timeouts,
             options.measurer.peer.empty()
                 ? "ended at a lower --cell-limit"
                 : "ended at a lower --cell-limit or --peer-limit");
  if (journal.num_spoiled > 0) {
    PrintNote(fmt::format(
        "{}: {} torn or damaged; what stood there is measured again",
        journal_path,
        journal.num_spoiled == 1
            ? "1 line is"
            : fmt::format("{} lines are", journal.num_spoiled)));
  }
  const std::vector<std::size_t> left = state.Left();
  const std::size_t num_wanted = state.wanted().size();
  const auto begun = std::ranges::count_if(
      left, [&](std::size_t i) { return state.Processes(i) > 0; });
  PrintNote(fmt::format(
      "{}: {} of {} points are there{}", options.output,
      num_wanted - left.size(), num_wanted,
      begun == 0 ? ""
                 : fmt::format(", and {} that not all processes have measured",
                               begun)));
}

// Says why a result could not be written, and where the measured points are.
std::string NotWritten(const UserError& error, const Journal& journal) {
  return fmt::format(
      "{}; {}", error.what(),
      journal.IsRemoved()
          ? "the journal is gone, too, and with it what was measured"
          : "all that was measured is in " + journal.path() +
                "; once the place is free, --resume goes on from there");
}

std::vector<std::string> HashesOf(const Sweep& sweep,
                                  const MeasurerOptions& options,
                                  const WorkloadFiles& files,
                                  const std::string& peer) {
  const ProcessPlan plan = PlanOf(sweep, options);
  std::vector<std::string> hashes;
  for (const Point& point : sweep.points) {
    hashes.push_back(
        PointHash(sweep, point, files, BuildId(), plan.builds, peer));
  }
  return hashes;
}

// Empties the journal for a run that begins anew.
void BeginAnew(const CampaignOptions& options, Journal& journal) {
  if (!options.force && WouldLose(journal)) {
    throw UserError(options.output,
                    "a run of it was not finished, and left " + journal.path() +
                        "; --resume goes on from there, --force begins anew");
  }
  journal.Clear();
}

// A worker reads the file of a workload when it begins a point, and starts a
// peer more than once.
void CheckInputsUnchanged(const Point& point, const WorkloadFiles& files,
                          bool is_same_peer, const Journal& journal) {
  if (is_same_peer && files.AreUnchanged(point)) return;
  throw UserError(
      is_same_peer ? point.axes.at("workload").text() : "--peer",
      fmt::format("was changed while it was measured; undo that and --resume "
                  "goes on from {}, --force begins anew",
                  journal.path()));
}

// Tells that points are measured again whose clock was another one.
void PrintDrifted(const CampaignOptions& options,
                  const std::vector<Calibration>& calibration,
                  std::size_t num_again, std::size_t num_wanted) {
  PrintNote(fmt::format(
      "{}: the processor's clock drifted by {:.1f} % between points; {} of {} "
      "{} measured again",
      options.output, 100 * DriftOf(calibration).between_points, num_again,
      num_wanted, num_again == 1 ? "is" : "are"));
}

class Campaign {
 public:
  Campaign(const Sweep& sweep, const Context& context,
           const CampaignOptions& options)
      : sweep_(sweep),
        options_(options),
        file_(options.output, MayReplace(options)),
        journal_(file_.target(), options.output),
        peer_(PeerIdentity(options.measurer.peer)),
        files_(sweep),
        state_(sweep, HashesOf(sweep, options.measurer, files_, peer_),
               options.shard, PlanOf(sweep, options.measurer),
               options.measurer.limits) {
    static_cast<Context&>(own_context_) = context;
    own_context_.workload_files = files_.described();
    // Another run may have written the result before we had the lock.
    static_cast<void>(ResultFile(options.output, MayReplace(options)));
    // The workers will need a temporary folder: a lack of one must show before
    // hours of measuring.
    static_cast<void>(TemporaryFolder());
    CheckWorkerProgram(options.measurer);
  }

  CampaignEnd RunToEnd() {
    ResumeFinished();
    const std::vector<std::size_t> left = state_.Left();
    if (left.empty() && result_is_whole_) {
      journal_.Remove();
      return {.nothing_to_do = true,
              .num_points = state_.wanted().size(),
              .result = std::move(result_)};
    }
    CatchInterrupts();
    if (!left.empty()) Measure(left);
    MeasureDriftedAgain();
    return Write();
  }

 private:
  // Takes what an earlier run has finished, where --resume asks for it.
  void ResumeFinished() {
    if (!options_.resume) {
      BeginAnew(options_, journal_);
      return;
    }
    const JournalContents journal = journal_.Contents();
    continues_result_ =
        std::filesystem::exists(file_.target()) && ContinuesResult(journal);
    try {
      if (continues_result_) ReadResultThere();
      state_.AddFinished(journal, journal_.path(), own_context_);
    } catch (const UserError& error) {
      throw UserError(fmt::format(
          "{}; no run can go on from it, --force replaces it", error.what()));
    }
    // These points were measured after the result was written.
    if (HasPoints(journal)) result_is_whole_ = false;
    RefuseLosses(state_.finished(), options_.output);
    const Unfinished unfinished = state_.FindUnfinished(options_.measurer);
    if (!unfinished.points.empty()) result_is_whole_ = false;
    state_.MeasureAgain(unfinished.points);
    PrintFinished(options_, state_, unfinished, journal, journal_.path());
  }

  // Takes the result that is already at the output path.
  void ReadResultThere() {
    result_ = SweepResultOf(ReadJsonFile(file_.target()), options_.output);
    state_.AddFinished(*result_, options_.output, own_context_);
    // A file of a longer sweep or another shard is not the one wanted.
    const SweepContext& context = result_->context;
    result_is_whole_ = state_.Left().empty() &&
                       context.points == state_.hashes() &&
                       context.shard == ShardText(options_) &&
                       DriftedPoints(context.calibration).empty();
  }

  // Begins this run, before the first of its points, which are those of `rest`.
  void Begin(const Sweep& rest) {
    if (has_begun_) return;
    has_begun_ = true;
    load_watch_ = BeginWatch(own_context_);
    state_.limits() = LimitsFor(rest, std::move(state_.limits()));
    own_context_.limits = state_.limits();
    journal_.Append({.run = RunRecord{own_context_, continues_result_}});
    state_.BeginRun(OwnRun());
  }

  // Measures until all is done or the user interrupts. What the machine does in
  // the course of hours is in the processes of every point.
  void Measure(const std::vector<std::size_t>& left) {
    Sweep rest = sweep_;
    rest.points.clear();
    std::vector<std::int64_t> done;
    for (const std::size_t i : left) {
      rest.points.push_back(sweep_.points[i]);
      done.push_back(state_.Processes(i));
    }
    Begin(rest);
    MeasurerOptions measurer_options = options_.measurer;
    measurer_options.limits = state_.limits();
    Progress progress(rest, done);
    Measurer measurer(sweep_, measurer_options);
    measurer_options.counts_instructions = true;
    Measurer counter(sweep_, measurer_options);
    for (const auto& [process, n] : progress.steps()) {
      const std::size_t i = left[n];
      if (state_.Processes(i) > process) {  // all of its cells failed since
        progress.FinishPoint({});
        continue;
      }
      if (!MeasurePoint(i, process, measurer, counter, progress)) return;
      if (journal_.IsRemoved() && !state_.Left().empty()) {
        PrintNote(journal_.path() +
                  ": somebody has removed it; the run ends with what it has");
        return;
      }
    }
    measurer.Finish();
    counter.Finish();
  }

  // Once all is done, gives the points at which the clock was another one a
  // second chance. A run does that once; where one is stopped meanwhile, the
  // next finds for itself which points are left.
  void MeasureDriftedAgain() {
    if (!state_.Left().empty() || WasInterrupted()) return;
    const std::vector<Calibration> calibration = state_.CalibrationOfPoints();
    const std::set<std::string> again = DriftedPoints(calibration);
    if (again.empty()) return;
    PrintDrifted(options_, calibration, again.size(), state_.wanted().size());
    state_.MeasureAgain(again);
    Measure(state_.Left());
  }

  // False if the user interrupts.
  bool MeasurePoint(std::size_t i, int process, Measurer& measurer,
                    Measurer& counter, Progress& progress) {
    if (WasInterrupted()) return false;
    const bool counts = sweep_.counts_instructions && process == 0;
    const double timed = counts ? 0.5 : 1;  // the share of the step
    auto measured =
        measurer.Measure(i, process, state_.CellsOf(i),
                         [&](double share) { progress.Tick(timed * share); });
    if (!measured) return false;
    if (counts &&
        !AddInstructions(
            counter, i, [&](double share) { progress.Tick((1 + share) / 2); },
            *measured)) {
      return false;
    }
    CheckInputsUnchanged(sweep_.points[i], files_,
                         PeerIdentity(options_.measurer.peer) == peer_,
                         journal_);
    Keep(i, process, *measured);
    progress.FinishPoint(measured->cells);
    return true;
  }

  MeasuringRun OwnRun() const {
    const MeasurerOptions& measurer = options_.measurer;
    std::optional<std::int64_t> peer_limit_s;
    if (!measurer.peer.empty()) peer_limit_s = measurer.peer_limit_s;
    return RunOf(own_context_, measurer.cell_limit_s, peer_limit_s);
  }

  // Writes it to the journal, with this run as judged now, which may be its
  // last point.
  void Keep(std::size_t i, int process, const MeasuredPoint& measured) {
    const std::string& hash = state_.hashes()[i];
    FinishedPoint part = PartOf(measured, hash, process, sweep_.processes);
    LookAgain(load_watch_, /*calibration=*/{}, own_context_);
    const MeasuringRun run = OwnRun();
    state_.ReplaceRun(run);
    if (!journal_.IsRemoved()) {
      journal_.Append(
          {.point = PointRecord{hash, process, part.cells, part.calibration,
                                run, FingerprintHash(own_context_)}});
    }
    state_.Add(i, process, std::move(part));
  }

  CampaignEnd Write() {
    const std::size_t num_left = state_.Left().size();
    CampaignEnd end = {.interrupted = num_left > 0,
                       .num_points = state_.wanted().size() - num_left};
    // Without a point there is nothing to go on from, so no journal stays.
    if (end.interrupted && state_.finished().points.empty()) {
      journal_.Clear();
      return end;
    }
    end.result = state_.Result(own_context_, OwnRun());
    try {
      file_.Write(ToJson(*end.result));
    } catch (const UserError& error) {
      throw UserError(NotWritten(error, journal_));
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
  const std::string peer_;  // its identity
  const WorkloadFiles files_;
  SweepState state_;
  // The result at the output path, if this run goes on from it.
  std::optional<SweepResult> result_;
  bool has_begun_ = false;  // this run is the last one of the state
  bool continues_result_ = false;
  bool result_is_whole_ = false;
};

}  // namespace

CampaignEnd RunCampaign(const Sweep& sweep, const Context& context,
                        const CampaignOptions& options) {
  return Campaign(sweep, context, options).RunToEnd();
}

}  // namespace attnbench
