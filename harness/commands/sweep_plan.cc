#include "harness/commands/sweep_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/document.h"
#include "harness/base/error.h"
#include "harness/base/exit_code.h"
#include "harness/base/printable.h"
#include "harness/campaign/estimate.h"
#include "harness/campaign/progress.h"
#include "harness/inputs/captured.h"
#include "harness/inputs/case_file.h"
#include "harness/machine/clock.h"
#include "harness/machine/environment.h"
#include "harness/results/sweep_result.h"
#include "harness/sweep/workload_name.h"
#include "harness/system/interrupt.h"

namespace attnbench {
namespace {

// What is measured for the estimate.
constexpr std::int64_t kProbeLimit = 10;  // seconds of a cell, at most
constexpr double kUntoldSeconds = 1;      // later the user is told

// A point as --dry-run --json prints it.
struct PlannedPoint {
  AxisMap axes = {};
  std::size_t num_cells = 0;
  double estimated_s = 0;

  static void Fields(auto& self, auto& visit) {
    visit("axes", self.axes);
    visit("num_cells", self.num_cells);
    visit("estimated_s", self.estimated_s);
  }
};

struct PlanDocument {
  std::string name = {};
  std::size_t num_points = 0, num_cells = 0, num_excluded = 0, num_unknown = 0;
  double estimated_s = 0;
  std::vector<PlannedPoint> points = {};

  static void Fields(auto& self, auto& visit) {
    visit("name", self.name);
    visit("num_points", self.num_points);
    visit("num_cells", self.num_cells);
    visit("num_excluded", self.num_excluded);
    visit("num_unknown", self.num_unknown);
    visit("estimated_s", self.estimated_s);
    visit("points", self.points);
  }
};

std::size_t NumberOfCells(const Sweep& sweep) {
  std::size_t cells = 0;
  for (const Point& point : sweep.points) cells += point.cells.size();
  return cells;
}

// Captured energies are of their own lengths and no others.
void CheckLengths(const Point& point, const CapturedEnergies& captured) {
  for (const auto& [axis, length] :
       {std::pair("memory_length", captured.longest_memory),
        {"output_length", captured.longest_output},
        {"batch", std::ssize(captured.sequences)}}) {
    const std::int64_t asked = point.axes.at(axis).whole();
    if (asked == length) continue;
    throw UserError(point.axes.at("workload").text(),
                    fmt::format("has {} {}, but {} is asked for, by an option "
                                "or another file; leave that out, the file "
                                "sets it",
                                axis, length, asked));
  }
}

void CheckWorkloads(const Sweep& sweep) {
  std::map<std::string, CapturedEnergies> captured;
  for (const Point& point : sweep.points) {
    const std::string& name = point.axes.at("workload").text();
    const auto [found, is_new] = captured.try_emplace(name);
    const WorkloadName workload = ParseWorkload(name);
    if (workload.kind == WorkloadKind::kCaptured) {
      if (is_new) found->second = ReadCaptured(workload.path);
      CheckLengths(point, found->second);
    } else if (workload.kind == WorkloadKind::kFile && is_new) {
      ReadCaseFile(workload.path);
    }
  }
}

// None if the user interrupts.
std::optional<std::vector<ResultCell>> Measure(const Sweep& probes,
                                               MeasurerOptions options) {
  options.epoch_ns /= 10;
  options.most_draws = 1;
  options.cell_limit_s = std::min(options.cell_limit_s, kProbeLimit);
  CountProgress progress("run-sweep --dry-run", "small points",
                         /*tells_time=*/true);
  bool is_told = false;
  const auto tell = [&](double) {
    if (is_told || progress.Seconds() < kUntoldSeconds) return;
    is_told = true;
    std::cerr << fmt::format(
        "attnbench: measuring {} small points for the estimate\n",
        probes.points.size());
  };
  if (!probes.points.empty()) CheckClock();
  CatchInterrupts();
  Measurer measurer(probes, options);
  std::vector<ResultCell> probed;
  for (std::size_t i = 0; i < probes.points.size(); ++i) {
    const std::optional<MeasuredPoint> point =
        measurer.Measure(i, /*process=*/0, {}, tell);
    if (!point) return std::nullopt;
    probed.insert(probed.end(), point->cells.begin(), point->cells.end());
    tell(1);
    if (is_told) progress.ShowCount(i + 1, probes.points.size());
  }
  measurer.Finish();
  return probed;
}

// Which of the cells of a sweep a result has.
struct SharedCells {
  std::size_t wanted = 0, there = 0;
  std::vector<std::size_t> others = {};  // the places of those it has beside

  static void Fields(auto& self, auto& visit) {
    visit("wanted", self.wanted);
    visit("there", self.there);
    visit("others", self.others);
  }
};

}  // namespace

int PrintShared(const Sweep& sweep, const std::string& path) {
  std::set<std::string> wanted;
  for (const Point& point : sweep.points) {
    for (const Cell& cell : point.cells) wanted.insert(cell.Key());
  }
  const SweepResult result = ReadResult(path).result;
  std::set<std::string> there;
  SharedCells told{.wanted = wanted.size()};
  for (std::size_t i = 0; i < result.cells.size(); ++i) {
    const std::string key = result.cells[i].Key();
    there.insert(key);
    if (!wanted.contains(key)) told.others.push_back(i);
  }
  told.there = there.size();
  std::cout << ToJson(told).dump() << "\n";
  return kGood;
}

// This peer only answers and ends: workers start their own.
std::optional<PeerInfo> AskPeer(const MeasurerOptions& options) {
  if (options.peer.empty()) return std::nullopt;
  const std::chrono::seconds limit(options.peer_limit_s);
  return Peer(options.peer, limit).info();
}

Sweep PlanSweep(const SweepRequest& request) {
  Sweep sweep = ExpandSweep(request);
  CheckWorkloads(sweep);
  SkipThreadsBeyond(Cores(), sweep);
  return sweep;
}

int ShowSweep(const Sweep& sweep, const MeasurerOptions& options,
              bool as_json) {
  const auto probed = Measure(ProbesOf(sweep), options);
  if (!probed) {
    std::cerr << "attnbench: interrupted while it measured small points\n";
    return kInterrupted;
  }
  TimeEstimate estimate(sweep);
  estimate.Learn(*probed);
  PlanDocument plan = {.name = sweep.name,
                       .num_points = sweep.points.size(),
                       .num_cells = NumberOfCells(sweep),
                       .num_excluded = sweep.num_excluded,
                       .num_unknown = estimate.NumUnknown(),
                       .estimated_s = estimate.TotalSeconds()};
  std::string text = fmt::format(
      "{}: {}, {}{}, about {}{}\n", plan.name,
      Counted(plan.num_points, "point"), Counted(plan.num_cells, "cell"),
      plan.num_excluded == 0
          ? ""
          : fmt::format(" ({} more are excluded)", plan.num_excluded),
      DurationText(plan.estimated_s),
      plan.num_unknown == 0
          ? ""
          : fmt::format(", a guess for {} that failed on a small point",
                        Counted(plan.num_unknown, "cell")));
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const Point& point = sweep.points[i];
    plan.points.push_back(
        {point.axes, point.cells.size(), estimate.PointSeconds(i)});
    text += fmt::format("{}: {}\n", PointText(point),
                        Counted(point.cells.size(), "cell"));
  }
  std::cout << (as_json ? JsonText(ToJson(plan), 2) : PrintableLines(text));
  return kGood;
}

}  // namespace attnbench
