#include "harness/campaign/in_turn.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>

#include "harness/base/error.h"
#include "harness/campaign/point_hash.h"
#include "harness/campaign/progress.h"
#include "harness/campaign/resume.h"
#include "harness/campaign/worker.h"
#include "harness/machine/calibration.h"
#include "harness/machine/load_watch.h"
#include "harness/machine/validity.h"
#include "harness/system/child_process.h"
#include "harness/system/interrupt.h"

namespace attnbench {
namespace {

constexpr std::chrono::minutes kDescribeLimit{1};

// Asks a program what it is.
Context ContextOf(const std::string& program) {
  ChildProcess process({.arguments = {program, kWorkerCommand, kDescribe},
                        .environment = EnvironmentWith({})});
  const auto line =
      process.ReadLine(ChildProcess::Clock::now() + kDescribeLimit);
  const ProcessEnd end = process.Stop();
  const Json json = line ? ParseMessage(*line) : Json();
  if (!json.is_object() || !json.contains("context")) {
    const std::string words = process.LastWords();
    throw UserError(
        program,
        fmt::format("does not say what it is, as an attnbench since "
                    "compare --programs does ({}{}{})",
                    end.IsGood() ? "it wrote something else" : end.Text(),
                    words.empty() ? "" : ": ", words));
  }
  // Older programs write a member more.
  return FromJson<Context>(json.at("context"), program);
}

// What one program has measured so far.
class Side {
 public:
  Side(const Sweep& sweep, const ProgramSide& side, MeasurerOptions options)
      : sweep_(sweep), side_(side) {
    static_cast<Context&>(context_) = ContextOf(side.builds[0]);
    watch_ = BeginWatch(context_);
    options.builds = side.builds;
    plan_ = PlanOf(sweep, options);
    measurer_ = std::make_unique<Measurer>(sweep, std::move(options));
    for (const Point& point : sweep.points) {
      context_.points.push_back(PointHash(sweep, point, "", 1, ""));
      context_.cells_of_points.push_back(std::ssize(point.cells));
    }
    context_.processes = sweep.processes;
    points_.resize(sweep.points.size());
  }

  // The cells that the process gave; none if the user interrupts.
  std::optional<std::vector<ResultCell>> Measure(
      std::size_t i, int process, const std::function<void(double)>& tick) {
    FinishedPoint& point = points_[i];
    auto measured = measurer_->Measure(i, process, point.cells, tick);
    if (!measured) return {};
    point.Add(PartOf(*measured, context_.points[i], process, sweep_.processes),
              sweep_.points[i], plan_);
    LookAgain(watch_, /*calibration=*/{}, context_);
    return std::move(measured->cells);
  }

  void Finish() { measurer_->Finish(); }

  ReadSweep Result() {
    SweepResult result;
    context_.runs = {RunOf(context_, std::nullopt, std::nullopt)};
    context_.runs[0].points = context_.points;
    for (FinishedPoint& point : points_) {
      if (point.calibration) context_.calibration.push_back(*point.calibration);
      for (ResultCell& cell : point.cells) {
        result.cells.push_back(std::move(cell));
      }
    }
    SetValidityOfRuns("", context_);
    result.context = std::move(context_);
    return {side_.name, std::move(result)};
  }

 private:
  const Sweep& sweep_;
  const ProgramSide& side_;
  ProcessPlan plan_;
  SweepContext context_;
  LoadWatch watch_;
  std::unique_ptr<Measurer> measurer_;
  std::vector<FinishedPoint> points_;
};

}  // namespace

std::optional<std::array<ReadSweep, 2>> MeasureInTurn(
    const Sweep& sweep, const std::array<ProgramSide, 2>& sides,
    const MeasurerOptions& options) {
  std::array<Side, 2> both = {Side(sweep, sides[0], options),
                              Side(sweep, sides[1], options)};
  CatchInterrupts();
  const std::vector<std::int64_t> none_done(sweep.points.size());
  Progress progress(sweep, none_done, stderr, isatty(STDERR_FILENO) == 1);
  for (const auto& [process, i] : progress.steps()) {
    std::vector<ResultCell> cells;
    for (const int turn : {0, 1}) {
      const auto which = static_cast<std::size_t>((process + turn) % 2);
      const auto given = both[which].Measure(
          i, process, [&](double share) { progress.Tick((turn + share) / 2); });
      if (!given) return {};
      cells.insert(cells.end(), given->begin(), given->end());
    }
    progress.FinishPoint(cells);
  }
  for (Side& side : both) side.Finish();
  return std::array<ReadSweep, 2>{both[0].Result(), both[1].Result()};
}

}  // namespace attnbench
