#include "harness/results/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "harness/base/error.h"
#include "harness/machine/fingerprint.h"
#include "harness/machine/roofline.h"
#include "harness/results/assembly.h"
#include "harness/sweep/shard.h"
#include "mechanisms/common/check.h"

namespace attnbench {
namespace {

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

// Tells where the setup `other` differs from `first`, which is of the file
// `first_path`: "cpu is "b", in first.json "a"".
std::vector<std::string> DifferenceTexts(const std::string& first_path,
                                         const Json& first, const Json& other) {
  std::vector<std::string> texts;
  for (const FingerprintDifference& difference :
       SetupDifferences(first, other)) {
    texts.push_back(fmt::format("{} is {}, in {} {}", difference.field,
                                difference.b.dump(), first_path,
                                difference.a.dump()));
  }
  return texts;
}

// "shards 1/4, 3/4 are missing"; empty if all are there.
std::string MissingShardsText(const std::set<std::int64_t>& there,
                              std::int64_t count) {
  std::vector<std::string> missing;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!there.contains(i)) missing.push_back(Shard{i, count}.Text());
  }
  if (missing.empty()) return "";
  return fmt::format("shard{} {} {} missing", missing.size() == 1 ? "" : "s",
                     fmt::join(missing, ", "),
                     missing.size() == 1 ? "is" : "are");
}

// Gives "" if the files are no shards, or of different numbers of shards.
std::string MissingShardsOf(const std::vector<ReadSweep>& files) {
  std::set<std::int64_t> there;
  std::int64_t count = 0;
  for (const ReadSweep& file : files) {
    const std::optional<std::string>& text = file.result.context.shard;
    if (!text) return "";
    const Shard shard = ParseShard(*text, file.path + ": --shard");
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

// Gives a run of a part the part's name, and says where its setup differs from
// the first file's.
void NameRun(const ReadSweep& first, const ReadSweep& part, MeasuringRun& run) {
  if (!run.file) run.file = part.path;
  if (&part == &first) return;
  const Setup& of_first = first.result.context;
  const Json setup = SetupOf(part.result.context, run);
  for (const std::string& text :
       DifferenceTexts(first.path, ToJson(of_first), setup)) {
    run.warnings.push_back(text);
  }
  run.differs = DifferingMembers(of_first, setup);
  if (run.differs->empty()) run.differs.reset();
}

// No point may be in two files, as its cells are compared with each other.
void CheckPointsDiffer(const std::vector<ReadSweep>& files) {
  std::map<std::string, const ReadSweep*> file_of;
  for (const ReadSweep& file : files) {
    for (const ResultCell& cell : file.result.cells) {
      const ReadSweep* const has =
          file_of.try_emplace(cell.point, &file).first->second;
      if (has == &file) continue;
      throw UserError(file.path,
                      fmt::format("has point {} ({}), which {} has "
                                  "too",
                                  cell.point, cell.mechanism, has->path));
    }
  }
}

}  // namespace

Merged MergeResults(const std::vector<ReadSweep>& files,
                    const std::string& command) {
  ATTN_CHECK(!files.empty());
  for (const ReadSweep& file : files) CheckSameSweep(files[0], file);
  CheckPointsDiffer(files);
  SweepContext context = files[0].result.context;
  context.command = command;
  context.shard.reset();
  context.limits.clear();
  FinishedPoints finished;
  for (const ReadSweep& file : files) {
    AddLimits(file.result.context.limits, context.limits);
    const std::size_t num_before = finished.runs.size();
    AddResult(file.result, file.path, finished);
    for (std::size_t i = num_before; i < finished.runs.size(); ++i) {
      NameRun(files[0], file, finished.runs[i]);
    }
  }
  const std::int64_t processes = context.processes.value_or(1);
  const auto num_whole = static_cast<std::size_t>(
      std::ranges::count_if(finished.points, [&](const auto& one) {
        return one.second.Processes(processes) == processes;
      }));
  const std::size_t num_points = context.points.size();
  const std::string missing =
      MissingText(files, num_points - num_whole, num_points);
  return {AssembledResult(std::move(context), finished, missing), missing};
}

}  // namespace attnbench
