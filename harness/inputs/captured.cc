#include "harness/inputs/captured.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <system_error>

#include "harness/base/error.h"
#include "harness/inputs/array_file.h"
#include "harness/inputs/score_batch.h"

namespace attnbench {
namespace {

// Checks that the file has no arrays whose names mean nothing: a misspelt
// `lengths` would make entries of padding.
void CheckNames(const std::vector<std::string>& names,
                const std::string& path) {
  const std::vector<std::string> valid = {"energies", "chunk_energies",
                                          "lengths", "mask", "output_lengths"};
  for (const std::string& name : names) {
    if (!Contains(valid, name)) {
      throw UserError(path, UnknownName("array", name, valid));
    }
  }
  if (Contains(names, "lengths") && Contains(names, "mask")) {
    throw UserError(path, "has lengths and mask; give one of them");
  }
}

}  // namespace

CapturedEnergies ReadCaptured(const std::string& path) {
  if (path.ends_with(".json")) {
    throw UserError(path, "is a case file, which the workload file:CASE takes");
  }
  std::error_code error;
  if (std::filesystem::exists(path, error) &&
      !std::filesystem::is_regular_file(path, error)) {
    throw UserError(path, "must be a file: it is read more than once");
  }
  const std::vector<std::string> names = NamesOfArrays(path);
  CheckNames(names, path);
  ScoreBatch batch(ReadArray(path, "energies"));
  if (Contains(names, "lengths")) {
    batch.entries = LengthsOf(ReadArray(path, "lengths"), batch, batch.T);
  } else if (Contains(names, "mask")) {
    batch.entries = LengthsOfMask(ReadArray(path, "mask"), batch);
  }
  if (Contains(names, "output_lengths")) {
    batch.outputs =
        LengthsOf(ReadArray(path, "output_lengths"), batch, batch.U);
  }
  const auto sum_of = [](const std::vector<Index>& lengths) {
    return std::accumulate(lengths.begin(), lengths.end(), Index{0});
  };
  CapturedEnergies captured{.longest_memory = std::ranges::max(batch.entries),
                            .longest_output = std::ranges::max(batch.outputs),
                            .entries = sum_of(batch.entries),
                            .outputs = sum_of(batch.outputs)};
  for (Index n = 0; n < batch.count; ++n) {
    captured.sequences.push_back(
        {CutTable<float>(batch, n, ScoreKind::kEnergies), {}});
  }
  if (!Contains(names, "chunk_energies")) return captured;
  const ScoreBatch chunk = BatchLike(batch, ReadArray(path, "chunk_energies"));
  for (Index n = 0; n < batch.count; ++n) {
    captured.sequences[Size(n)].chunk_energies =
        CutTable<float>(chunk, n, ScoreKind::kEnergies);
  }
  return captured;
}

}  // namespace attnbench
