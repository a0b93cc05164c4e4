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
    results_[0] = decoder_->Step(all_states, all_contexts);
    ATTN_CHECK(!results_[0].need_memory);
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
