#include "harness/campaign/point_hash.h"

#include <fmt/format.h>

#include "harness/base/hash.h"
#include "harness/base/input_file.h"
#include "harness/inputs/array_file.h"
#include "harness/inputs/captured.h"
#include "harness/inputs/case_file.h"
#include "harness/machine/environment.h"
#include "harness/sweep/workload_name.h"

namespace attnbench {
namespace {

std::string HashOfFiles(const std::vector<std::string>& files) {
  if (files.empty()) return "";
  Fnv1a hash;
  for (const std::string& file : files) {
    const std::string text = ReadInput(file, kMostArrayMebibytes);
    hash.Add(fmt::format("{} ", text.size()));
    hash.Add(text);
  }
  return hash.Hex();
}

}  // namespace

WorkloadFiles::WorkloadFiles(const Sweep& sweep) {
  for (const Point& point : sweep.points) {
    const std::string& workload = point.axes.at("workload").text();
    if (contents_.contains(workload)) continue;
    const WorkloadName name = ParseWorkload(workload);
    const std::vector<std::string> files = FilesOf(name);
    contents_[workload] = {files, HashOfFiles(files)};
    if (files.empty()) continue;
    WorkloadFile& described = described_.emplace_back();
    described.workload = workload;
    described.hash = contents_[workload].hash;
    if (name.kind != WorkloadKind::kCaptured) continue;
    const CapturedEnergies captured = ReadCaptured(name.path);
    described.sequences = std::ssize(captured.sequences);
    described.entries = captured.entries;
    described.outputs = captured.outputs;
  }
}

const WorkloadFiles::Contents& WorkloadFiles::ContentsOf(
    const Point& point) const {
  return contents_.at(point.axes.at("workload").text());
}

const std::string& WorkloadFiles::HashOf(const Point& point) const {
  return ContentsOf(point).hash;
}

bool WorkloadFiles::AreUnchanged(const Point& point) const {
  const Contents& contents = ContentsOf(point);
  return HashOfFiles(contents.files) == contents.hash;
}

std::string PointHash(const Sweep& sweep, const Point& point,
                      const WorkloadFiles& files, std::string_view build_id,
                      std::int64_t num_builds, std::string_view peer) {
  Fnv1a hash;
  // Each part ends in a byte that no part contains.
  const auto add = [&hash](std::string_view part) {
    hash.Add(part);
    hash.Add(std::string_view("\0", 1));
  };
  add(build_id);
  add(fmt::format("{} {} {} {} {}", sweep.seed, sweep.repetitions, sweep.trials,
                  sweep.processes, num_builds));
  if (sweep.counts_instructions) add("instructions");
  add(ToJson(point.axes).dump());
  add(files.HashOf(point));
  for (const Cell& cell : point.cells) {
    add(cell.Key());
    add(cell.skip_reason.value_or(""));
    add(cell.is_peers ? peer : "");
  }
  return hash.Hex();
}

}  // namespace attnbench
