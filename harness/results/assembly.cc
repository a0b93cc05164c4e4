#include "harness/results/assembly.h"

#include <algorithm>
#include <utility>

#include "harness/base/error.h"
#include "harness/machine/validity.h"

namespace attnbench {

std::int64_t FinishedPoint::Processes(std::int64_t processes) const {
  std::int64_t least = processes;
  for (const ResultCell& cell : cells) {
    if (cell.is_ok()) least = std::min(least, cell.processes);
  }
  return least;
}

void AddResult(const SweepResult& result, const std::string& path,
               FinishedPoints& finished) {
  std::map<std::string, FinishedPoint> points;
  for (MeasuringRun& run : RunsOf(result)) {
    for (const std::string& point : run.points) {
      points[point].runs.insert(finished.runs.size());
    }
    run.points.clear();
    finished.runs.push_back(std::move(run));
  }
  for (const Calibration& entry : result.context.calibration) {
    points[entry.point].calibration = entry;
  }
  for (const ResultCell& cell : result.cells) {
    points[cell.point].cells.push_back(cell);
  }
  for (auto& [hash, point] : points) {
    if (point.cells.empty()) continue;
    if (point.runs.empty()) {
      throw UserError(path,
                      "has point " + hash + ", which none of context.runs has");
    }
    finished.points[hash] = std::move(point);
  }
}

SweepResult AssembledResult(SweepContext context,
                            const FinishedPoints& finished,
                            const std::string& not_whole) {
  SweepResult result;
  std::vector<MeasuringRun> runs = finished.runs;
  context.calibration.clear();
  for (const std::string& hash : context.points) {
    const auto found = finished.points.find(hash);
    if (found == finished.points.end()) continue;
    const FinishedPoint& point = found->second;
    result.cells.insert(result.cells.end(), point.cells.begin(),
                        point.cells.end());
    if (point.calibration) context.calibration.push_back(*point.calibration);
    for (const std::size_t run : point.runs) runs[run].points.push_back(hash);
  }
  if (!result.cells.empty()) {
    std::erase_if(runs,
                  [](const MeasuringRun& run) { return run.points.empty(); });
  }
  context.runs = std::move(runs);
  std::vector<std::string> warnings = PageFaultWarnings(result.cells);
  for (std::string& warning : BandWarnings(result.cells)) {
    warnings.push_back(std::move(warning));
  }
  SetValidityOfRuns(not_whole, warnings, context);
  result.context = std::move(context);
  return result;
}

}  // namespace attnbench
