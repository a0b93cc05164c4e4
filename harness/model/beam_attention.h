// Attends over one sequence for the hypotheses of a beam search. They share one
// decoder of the mechanism, and each has a Hypothesis, which says where it
// stands. A hypothesis that is continued in two ways forks: its Hypothesis is
// copied, no keys are.
#ifndef ATTNBENCH_HARNESS_MODEL_BEAM_ATTENTION_H_
#define ATTNBENCH_HARNESS_MODEL_BEAM_ATTENTION_H_

#include <memory>
#include <type_traits>
#include <vector>

#include "mechanisms/mechanism.h"

namespace attnbench {

// Energies of a user's model for one sequence (SequenceInputs::captured), for
// the decoder and for its reference in f64.
struct CapturedScores {
  NamedViews<const float> floats;
  NamedViews<const double> doubles;

  template <class Real>
  const NamedViews<const Real>& In() const {
    if constexpr (std::is_same_v<Real, float>) {
      return floats;
    } else {
      return doubles;
    }
  }
};

template <class Real>
class BeamAttention {
 public:
  // The mechanism, and what `inputs` points to, outlive this. Throws
  // Unsupported if the mechanism reads a further input that is not in `inputs`:
  // a model makes none.
  BeamAttention(const Mechanism<Real>& mechanism, const Config& config,
                const SequenceInputs<Real>& inputs);

  // Begins a new sequence with one hypothesis; the memory, and what was
  // captured for it if not null, outlive its steps. With `alone`, or for a
  // mechanism without StepBeam, it stays the only one, and Decoder::Step
  // decodes it.
  void Start(const MatrixView<const Real>& memory, bool alone,
             const CapturedScores* captured = nullptr);

  // Row r goes on from row parents[r] of the last step, with its state in
  // `states` [rows, d]; writes `contexts` [rows, d].
  void Step(const MatrixView<const Real>& states,
            std::span<const Index> parents, const MatrixView<Real>& contexts);

  // The results of the rows of the last step, valid until the next.
  std::span<const StepResult<Real>> results() const { return results_; }

 private:
  const Mechanism<Real>& mechanism_;
  const Config config_;
  const SequenceInputs<Real> inputs_;
  bool alone_ = false;
  std::unique_ptr<Decoder<Real>> decoder_;
  std::vector<Hypothesis> hypotheses_, last_;
  std::vector<StepResult<Real>> results_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MODEL_BEAM_ATTENTION_H_
