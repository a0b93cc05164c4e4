#include "harness/results/merge.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "harness/base/error.h"
#include "harness/machine/fingerprint.h"
#include "harness/machine/roofline.h"
#include "harness/machine/validity.h"
#include "harness/results/shard_checks.h"
#include "harness/sweep/shard.h"
#include "mechanisms/common/check.h"

namespace attnbench {
namespace {

// A point: the file that has it, its cells in their order, and its entry of
// `calibration`, where it has one.
struct Part {
  const ReadSweep* file;
  std::vector<const ResultCell*> cells = {};
  const Calibration* calibration = nullptr;
};

std::map<std::string, Part> PartsOf(const std::vector<ReadSweep>& files) {
  std::map<std::string, Part> parts;
  for (const ReadSweep& file : files) {
    for (const ResultCell& cell : file.result.cells) {
      Part& part = parts.try_emplace(cell.point, Part{&file}).first->second;
      if (part.file != &file) {
        throw UserError(
            file.path,
            fmt::format("has point {} ({}), which {} has too", cell.point,
                        cell.mechanism, part.file->path));
      }
      part.cells.push_back(&cell);
    }
    for (const Calibration& entry : file.result.context.calibration) {
      const auto part = parts.find(entry.point);
      if (part == parts.end() || part->second.file != &file) continue;
      part->second.calibration = &entry;
    }
  }
  return parts;
}

// Whether all processes have measured a point.
bool IsWhole(const Part& part) {
  const std::int64_t processes =
      part.file->result.context.processes.value_or(1);
  return std::ranges::none_of(part.cells, [&](const ResultCell* cell) {
    return cell->is_ok() && cell->processes < processes;
  });
}

// What was loaded decides times as the build does. Another processor, which
// merge allows and tells, has another core of OpenBLAS.
void CheckSameLibraries(const ReadSweep& first, const ReadSweep& other) {
  const SweepContext& a = first.result.context;
  const SweepContext& b = other.result.context;
  for (const auto& [field, of_a, of_b] :
       SetupDifferences(ToJson<Setup>(a), ToJson<Setup>(b))) {
    const bool is_told = a.cpu != b.cpu && field.ends_with(".core");
    if (is_told ||
        !(field.starts_with("loaded") || field.starts_with("environment"))) {
      continue;
    }
    throw UserError(other.path,
                    fmt::format("is no part of the run of {}: it has {} {}, "
                                "not {}",
                                first.path, field, of_b.dump(), of_a.dump()));
  }
}

// Throws UserError naming both files if they are not of one run.
void CheckSameSweep(const ReadSweep& first, const ReadSweep& other) {
  const auto check = [&](const char* name, const auto& a, const auto& b) {
    if (a == b) return;
    throw UserError(
        other.path,
        fmt::format("is no part of the run of {}: it has {} {}, "
                    "not {}",
                    first.path, name, ToJson(b).dump(), ToJson(a).dump()));
  };
  const SweepContext& a = first.result.context;
  const SweepContext& b = other.result.context;
  check("commit", a.commit, b.commit);
  check("build_id", a.build_id, b.build_id);
  check("seed", a.seed, b.seed);
  check("processes", a.processes, b.processes);
  CheckSameLibraries(first, other);
  // The message shows no points: they are too many.
  if (a.points == b.points) return;
  throw UserError(other.path,
                  fmt::format("is no part of the run of {}: it has the points "
                              "of another sweep, build or setting",
                              first.path));
}

// Gives "" if the files are no shards, or of different numbers of shards.
std::string MissingShardsOf(const std::vector<ReadSweep>& files) {
  std::set<std::int64_t> there;
  std::int64_t count = 0;
  for (const ReadSweep& file : files) {
    const std::optional<std::string>& text = file.result.context.shard;
    if (!text) return "";
    const Shard shard = ShardOf(*text, file.path);
    if (count != 0 && shard.count != count) return "";
    count = shard.count;
    there.insert(shard.index);
  }
  return MissingShardsText(there, count);
}

std::string MissingText(const std::vector<ReadSweep>& files,
                        std::size_t missing, std::size_t all) {
  if (missing == 0) return "";
  const std::string shards = MissingShardsOf(files);
  const std::int64_t processes = files[0].result.context.processes.value_or(1);
  return fmt::format(
      "{} of {} points are missing{}{}{}", missing, all,
      processes == 1
          ? ""
          : fmt::format(", or not measured by all {} processes", processes),
      shards.empty() ? "" : "; ", shards);
}

// The part's runs, each with the part's name and with where its setup differs
// from the first file's.
std::vector<Run> RunsOfPart(const ReadSweep& first, const ReadSweep& part) {
  std::vector<Run> runs = RunsOf(part.result);
  const Setup& of_first = first.result.context;
  for (Run& run : runs) {
    if (!run.file) run.file = part.path;
    // The runs of the first file need no differences.
    if (&part == &first) continue;
    const Json setup = SetupOf(part.result.context, run);
    for (const std::string& text :
         DifferenceTexts(first.path, ToJson(of_first), setup)) {
      run.warnings.push_back(text);
    }
    run.differs = DifferingMembers(of_first, setup);
    if (run.differs->empty()) run.differs.reset();
  }
  return runs;
}

// The merged context, except for what only the merged points tell.
SweepContext MergedContext(const std::vector<ReadSweep>& files,
                           const std::string& command) {
  SweepContext context = files[0].result.context;
  context.command = command;
  context.shard.reset();
  context.limits.clear();
  context.runs.clear();
  context.calibration.clear();
  for (const ReadSweep& file : files) {
    AddLimits(file.result.context.limits, context.limits);
    for (Run& run : RunsOfPart(files[0], file)) {
      context.runs.push_back(std::move(run));
    }
  }
  return context;
}

}  // namespace

Merged MergeResults(const std::vector<ReadSweep>& files,
                    const std::string& command) {
  ATTN_CHECK(!files.empty());
  for (const ReadSweep& file : files) CheckSameSweep(files[0], file);
  const std::map<std::string, Part> parts = PartsOf(files);
  Merged merged;
  SweepContext& context = merged.result.context;
  context = MergedContext(files, command);
  for (const std::string& point : context.points) {
    const auto found = parts.find(point);
    if (found == parts.end()) continue;
    const Part& part = found->second;
    for (const ResultCell* cell : part.cells) {
      merged.result.cells.push_back(*cell);
    }
    if (part.calibration != nullptr) {
      context.calibration.push_back(*part.calibration);
    }
  }
  const std::size_t num_points = context.points.size();
  const auto num_whole = static_cast<std::size_t>(std::ranges::count_if(
      parts, [](const auto& one) { return IsWhole(one.second); }));
  merged.missing = MissingText(files, num_points - num_whole, num_points);
  SetValidityOfRuns(merged.missing, PageFaultWarnings(merged.result.cells),
                    context);
  return merged;
}

}  // namespace attnbench
