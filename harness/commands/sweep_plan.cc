#include "harness/commands/sweep_plan.h"

#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <set>
#include <string>

#include "harness/case_file.h"
#include "harness/environment.h"
#include "harness/estimate.h"
#include "harness/progress.h"
#include "harness/workload.h"

namespace attnbench {
namespace {

std::size_t NumberOfCells(const Sweep& sweep) {
  std::size_t cells = 0;
  for (const Point& point : sweep.points) cells += point.cells.size();
  return cells;
}

void CheckWorkloads(const Sweep& sweep) {
  std::set<std::string> names;
  for (const Point& point : sweep.points) {
    names.insert(point.axes.at("workload").get<std::string>());
  }
  for (const std::string& name : names) {
    const WorkloadName workload = ParseWorkload(name);
    if (workload.kind == WorkloadKind::kFile) ReadCaseFile(workload.path);
  }
}

}  // namespace

// It is asked, and ends: workers start their own.
std::optional<PeerInfo> AskPeer(const AxisTable& table,
                                const MeasurerOptions& options) {
  if (options.peer.empty()) return std::nullopt;
  const std::chrono::seconds limit(options.peer_limit_s);
  return Peer(options.peer, limit, table).info();
}

Sweep PlanSweep(const AxisTable& table, const SweepRequest& request) {
  Sweep sweep = ExpandSweep(table, request);
  CheckWorkloads(sweep);
  SkipThreadsBeyond(Cores(), sweep);
  return sweep;
}

void ShowSweep(const AxisTable& table, const Sweep& sweep, bool as_json) {
  const TimeEstimate estimate = EstimateTime(sweep);
  Json document = {{"name", sweep.name},
                   {"num_points", sweep.points.size()},
                   {"num_cells", NumberOfCells(sweep)},
                   {"num_excluded", sweep.num_excluded},
                   {"estimated_s", estimate.total_s()},
                   {"points", Json::array()}};
  std::string text = fmt::format(
      "{}: {} points, {} cells{}, about {}\n", sweep.name, sweep.points.size(),
      NumberOfCells(sweep),
      sweep.num_excluded == 0
          ? ""
          : fmt::format(" ({} more are excluded)", sweep.num_excluded),
      DurationText(estimate.total_s()));
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const Point& point = sweep.points[i];
    document["points"].push_back({{"axes", point.axes},
                                  {"num_cells", point.cells.size()},
                                  {"estimated_s", estimate.point_s[i]}});
    text += fmt::format("{}: {} cells\n", PointText(table, point),
                        point.cells.size());
  }
  std::cout << (as_json ? document.dump(2) + "\n" : text);
}

}  // namespace attnbench
