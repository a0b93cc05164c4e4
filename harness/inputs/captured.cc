#include "harness/inputs/captured.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/error.h"
#include "harness/inputs/array_file.h"
#include "harness/inputs/score_batch.h"

namespace attnbench {
namespace {

constexpr const char* kPadding = "lengths or mask";

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
  const std::vector<std::string> names = NamesOfArrays(path);
  CheckNames(names, path);
  const ScoreBatch batch(ReadArray(path, "energies"));
  std::vector<Index> entries(Size(batch.count), batch.T);
  std::vector<Index> outputs(Size(batch.count), batch.U);
  if (Contains(names, "lengths")) {
    entries = LengthsOf(ReadArray(path, "lengths"), batch, batch.T);
  } else if (Contains(names, "mask")) {
    entries = LengthsOfMask(ReadArray(path, "mask"), batch);
  }
  if (Contains(names, "output_lengths")) {
    outputs = LengthsOf(ReadArray(path, "output_lengths"), batch, batch.U);
  }
  CapturedEnergies captured;
  const auto table_of = [&](const ScoreBatch& from, Index n) {
    return CutTable<float>(from, n, outputs[Size(n)], entries[Size(n)],
                           ScoreKind::kEnergies, kPadding);
  };
  for (Index n = 0; n < batch.count; ++n) {
    const Index T = entries[Size(n)];
    const Index U = outputs[Size(n)];
    captured.sequences.push_back({table_of(batch, n), {}});
    captured.longest_memory = std::max(captured.longest_memory, T);
    captured.longest_output = std::max(captured.longest_output, U);
    captured.entries += T;
    captured.outputs += U;
  }
  if (!Contains(names, "chunk_energies")) return captured;
  const ScoreBatch chunk = BatchLike(batch, ReadArray(path, "chunk_energies"));
  for (Index n = 0; n < batch.count; ++n) {
    captured.sequences[Size(n)].chunk_energies = table_of(chunk, n);
  }
  return captured;
}

}  // namespace attnbench
