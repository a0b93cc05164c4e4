#include "harness/working_set.h"

#include <algorithm>

#include "harness/error.h"
#include "harness/point_inputs.h"
#include "harness/score_fields.h"

namespace attnbench {
namespace {

template <class T>
Index BytesOf(const MatrixView<T>& view) {
  if (view.data == nullptr) return 0;
  return view.rows * view.cols * static_cast<Index>(sizeof(T));
}

// Of each list the first that is given.
template <class Real>
Index ScoreBytes(const std::vector<std::vector<std::string>>& scores,
                 const GivenScores<Real>& given) {
  Index bytes = 0;
  for (const std::vector<std::string>& list : scores) {
    for (const std::string& name : list) {
      Index of_table = 0;
      for (const ScoreField<Real>& field : kScoreFields<Real>) {
        if (name == field.name) of_table = BytesOf(given.*field.given);
      }
      bytes += of_table;
      if (of_table > 0) break;
    }
  }
  return bytes;
}

bool HasChunkEnergies(const std::vector<std::vector<std::string>>& scores) {
  return std::ranges::any_of(scores, [](const auto& list) {
    return Contains(list, "chunk_energies");
  });
}

// What energies, or their tables, are made of.
template <class Real>
Index EnergyBytes(const Config& config,
                  const std::vector<std::vector<std::string>>& scores,
                  const Sequence<Real>& sequence) {
  if (sequence.inputs.given != nullptr) {
    return ScoreBytes(scores, *sequence.inputs.given);
  }
  Index bytes = BytesOf(sequence.states);
  if (config.energy == EnergyKind::kDot && HasChunkEnergies(scores)) {
    bytes +=
        BytesOf(sequence.memory.chunk_keys) + BytesOf(sequence.chunk_states);
  }
  return bytes;
}

}  // namespace

template <class Real>
Index ViewBytes(const Config& config,
                const std::vector<std::vector<std::string>>& scores,
                const Sequence<Real>& sequence) {
  return BytesOf(sequence.memory.memory) + BytesOf(sequence.contexts) +
         EnergyBytes(config, scores, sequence);
}

template <class Real>
Index ViewBytes(const Config& config,
                const std::vector<std::vector<std::string>>& scores,
                const TrainingSequence<Real>& one) {
  Index bytes = EnergyBytes(config, scores, one.sequence);
  if (!config.attention_only) bytes += BytesOf(one.sequence.memory.memory);
  for (const NamedArray<Real>& output : OutputsOf(one)) {
    bytes += BytesOf(output.values);
  }
  bytes += BytesOf(one.cotangent.attention) + BytesOf(one.cotangent.contexts);
  if (one.gradients.parameters == nullptr) return bytes;
  for (const auto& [name, values] : one.gradients.parameters->arrays()) {
    bytes += static_cast<Index>(values.size() * sizeof(Real));
  }
  return bytes;
}

Index WorkingSetBytes(Index sequence_bytes, Index parameter_bytes, Index batch,
                      int threads) {
  const Index sequences = (batch + threads - 1) / threads;
  return parameter_bytes + (sequence_bytes * sequences + batch - 1) / batch;
}

#define ATTNBENCH_INSTANTIATE(Real)                                      \
  template Index ViewBytes(const Config&,                                \
                           const std::vector<std::vector<std::string>>&, \
                           const Sequence<Real>&);                       \
  template Index ViewBytes(const Config&,                                \
                           const std::vector<std::vector<std::string>>&, \
                           const TrainingSequence<Real>&);
ATTNBENCH_INSTANTIATE(float)
ATTNBENCH_INSTANTIATE(double)
#undef ATTNBENCH_INSTANTIATE

}  // namespace attnbench
