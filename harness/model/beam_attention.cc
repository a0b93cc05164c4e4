#include "harness/model/beam_attention.h"

#include <algorithm>
#include <string>
#include <utility>

#include "mechanisms/decode.h"
#include "mechanisms/description.h"

namespace attnbench {
namespace {

// Throws Unsupported if an input that is read under this config was not given:
// a model makes memory and states only.
template <class Real>
void CheckInputs(const Description& mechanism, const Config& config,
                 const SequenceInputs<Real>& inputs) {
  std::vector<InputSpec> lacking = FurtherInputs(mechanism, config);
  std::erase_if(lacking, [&](const InputSpec& input) {
    return inputs.further.Find(input.name).data != nullptr;
  });
  if (lacking.empty()) return;
  std::string names;
  for (const InputSpec& input : lacking) {
    names += (names.empty() ? "" : " and ") + input.name;
  }
  const bool is_of_energy = std::ranges::all_of(
      lacking, [](const InputSpec& input) { return input.energy.has_value(); });
  throw Unsupported(
      (is_of_energy ? "under this energy it reads " : "it reads ") + names +
      ", which the model does not make");
}

}  // namespace

template <class Real>
BeamAttention<Real>::BeamAttention(const Mechanism<Real>& mechanism,
                                   const Config& config,
                                   const SequenceInputs<Real>& inputs)
    : mechanism_(mechanism), config_(config), inputs_(inputs) {
  CheckInputs(mechanism.Describe(), config, inputs);
}

template <class Real>
void BeamAttention<Real>::Start(const MatrixView<const Real>& memory,
                                bool alone, const CapturedScores* captured) {
  alone_ = alone || !mechanism_.Describe().beam;
  SequenceInputs<Real> inputs = inputs_;
  inputs.expected_length = memory.rows;
  if (captured != nullptr) inputs.captured = captured->In<Real>();
  decoder_ = mechanism_.MakeDecoder(config_, inputs);
  decoder_->Append(memory);
  decoder_->Close();
  hypotheses_.assign(1, {});
  results_.assign(1, {});
}

template <class Real>
void BeamAttention<Real>::Step(const MatrixView<const Real>& states,
                               std::span<const Index> parents,
                               const MatrixView<Real>& contexts) {
  const std::span<const Real> all_states(states.data,
                                         Size(states.rows * states.cols));
  const std::span<Real> all_contexts(contexts.data, all_states.size());
  if (alone_) {
    if (states.rows > 1) throw Unsupported("has no StepBeam");
    results_[0] = decoder_->Step(all_states, all_contexts);
    CheckIsMade(results_[0]);
    return;
  }
  std::swap(hypotheses_, last_);
  hypotheses_.clear();
  for (const Index parent : parents) {
    hypotheses_.push_back(last_[Size(parent)]);
  }
  results_.resize(hypotheses_.size());
  decoder_->StepBeam(all_states, hypotheses_, all_contexts, results_);
}

template class BeamAttention<float>;
template class BeamAttention<double>;

}  // namespace attnbench
