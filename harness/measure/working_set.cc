#include "harness/measure/working_set.h"

#include "harness/inputs/point_inputs.h"
#include "mechanisms/description.h"

namespace attnbench {
namespace {

template <class T>
Index BytesOf(const MatrixView<T>& view) {
  if (view.data == nullptr) return 0;
  return view.rows * view.cols * static_cast<Index>(sizeof(T));
}

// Each list counts with its first score that is given.
template <class Real>
Index ScoreBytes(const Description& mechanism,
                 const NamedViews<const Real>& given) {
  Index bytes = 0;
  for (const std::vector<InputSpec>& list : mechanism.scores) {
    for (const InputSpec& score : list) {
      const Index of_table = BytesOf(given.Find(score.name));
      bytes += of_table;
      if (of_table > 0) break;
    }
  }
  return bytes;
}

// Energies, or their tables, are made of these.
template <class Real>
Index EnergyBytes(const Config& config, const Description& mechanism,
                  const Sequence<Real>& sequence) {
  const SequenceInputs<Real>& inputs = sequence.inputs;
  if (!inputs.scores.empty()) return ScoreBytes(mechanism, inputs.scores);
  Index bytes =
      BytesOf(sequence.states) + ScoreBytes(mechanism, inputs.captured);
  for (const InputSpec& input : FurtherInputs(mechanism, config)) {
    bytes += BytesOf(inputs.further.Find(input.name));
  }
  return bytes;
}

}  // namespace

template <class Real>
Index ViewBytes(const Config& config, const Description& mechanism,
                const Sequence<Real>& sequence) {
  return BytesOf(sequence.memory) + BytesOf(sequence.contexts) +
         EnergyBytes(config, mechanism, sequence);
}

template <class Real>
Index ViewBytes(const Config& config, const Description& mechanism,
                const TrainingSequence<Real>& one) {
  Index bytes = EnergyBytes(config, mechanism, one.sequence);
  if (one.sequence.contexts.data != nullptr) {
    bytes += BytesOf(one.sequence.memory);
  }
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

#define ATTNBENCH_INSTANTIATE(Real)                           \
  template Index ViewBytes(const Config&, const Description&, \
                           const Sequence<Real>&);            \
  template Index ViewBytes(const Config&, const Description&, \
                           const TrainingSequence<Real>&);
ATTNBENCH_INSTANTIATE(float)
ATTNBENCH_INSTANTIATE(double)
#undef ATTNBENCH_INSTANTIATE

}  // namespace attnbench
