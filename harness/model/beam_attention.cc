#include "harness/model/beam_attention.h"

#include <utility>

#include "mechanisms/description.h"

namespace attnbench {

template <class Real>
BeamAttention<Real>::BeamAttention(const Mechanism<Real>& mechanism,
                                   const Config& config,
                                   const SequenceInputs<Real>& inputs)
    : mechanism_(mechanism), config_(config), inputs_(inputs) {
  if (!FurtherInputs(mechanism.Describe(), config).empty()) {
    throw Unsupported(
        "under energy dot its chunk energies take keys and states of their "
        "own, which the model does not make; additive and bilinear serve");
  }
}

template <class Real>
void BeamAttention<Real>::Start(const MatrixView<const Real>& memory,
                                bool alone) {
  alone_ = alone;
  SequenceInputs<Real> inputs = inputs_;
  inputs.expected_length = memory.rows;
  decoder_ = mechanism_.MakeDecoder(config_, inputs);
  decoder_->Append(memory);
  decoder_->Close();
  hypotheses_.assign(1, {});
}

template <class Real>
void BeamAttention<Real>::Step(const MatrixView<const Real>& states,
                               std::span<const Index> parents,
                               const MatrixView<Real>& contexts) {
  const std::span<const Real> all_states(states.data,
                                         Size(states.rows * states.cols));
  const std::span<Real> all_contexts(contexts.data, all_states.size());
  if (alone_) {
    const StepResult<Real> step = decoder_->Step(all_states, all_contexts);
    ATTN_CHECK(!step.need_memory);
    hypotheses_[0] = {
        .output = hypotheses_[0].output + 1,
        .trace = {step.position, step.begin, step.end, step.inspected}};
    return;
  }
  std::swap(hypotheses_, last_);
  hypotheses_.clear();
  for (const Index parent : parents) {
    hypotheses_.push_back(last_[Size(parent)]);
  }
  decoder_->StepBeam(all_states, hypotheses_, all_contexts);
}

template class BeamAttention<float>;
template class BeamAttention<double>;

}  // namespace attnbench
