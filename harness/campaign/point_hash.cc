#include "harness/campaign/point_hash.h"

#include <fmt/format.h>

#include "harness/base/hash.h"
#include "harness/base/input_file.h"
#include "harness/base/json_file.h"
#include "harness/inputs/array_file.h"
#include "harness/inputs/case_file.h"
#include "harness/machine/environment.h"
#include "harness/sweep/workload_name.h"

namespace attnbench {
namespace {

// The contents of the workload's file, and of the arrays that it names, which
// may be edited between two runs.
std::string CaseText(const Point& point) {
  const WorkloadName workload = ParseWorkload(point.axes.at("workload").text());
  if (workload.kind != WorkloadKind::kFile) return "";
  std::string text = ReadJsonFile(workload.path).dump();
  for (const std::string& file : FilesOf(workload)) {
    if (file != workload.path) text += ReadInput(file, kMostArrayMebibytes);
  }
  return text;
}

}  // namespace

std::string PointHash(const Sweep& sweep, const Point& point,
                      std::string_view build_id, std::int64_t num_builds,
                      std::string_view peer) {
  Fnv1a hash;
  // Each part ends in a byte that no part contains.
  const auto add = [&hash](std::string_view part) {
    hash.Add(part);
    hash.Add(std::string_view("\0", 1));
  };
  add(build_id);
  add(fmt::format("{} {} {} {} {}", sweep.seed, sweep.repetitions, sweep.trials,
                  sweep.processes, num_builds));
  add(ToJson(point.axes).dump());
  add(CaseText(point));
  for (const Cell& cell : point.cells) {
    add(cell.Key());
    add(cell.skip_reason.value_or(""));
    add(cell.is_peers ? peer : "");
  }
  return hash.Hex();
}

}  // namespace attnbench
