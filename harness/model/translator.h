// The room `model` has a whole encoder and decoder, to put attention into.
//
// It translates a source to an output, greedily or by beam search.
//
// Greedy decoding takes the symbol of the largest logit in every step. Beam
// search of width B keeps, of all continuations of the hypotheses by one
// symbol, the B with the largest sum of log-probabilities,
//
//   log p(y | x) = sum over i of log softmax(logits_i)[y_i],
//
// without a length penalty (Britz' program, google/seq2seq: its default is a
// penalty of 0). Of equal sums it keeps the earlier hypothesis, then the
// smaller symbol.
//
// Both make as many steps as they are told. A trained model would stop where
// the best hypothesis emits the end symbol; random weights emit it at random,
// so for timing the number of steps is given, and finished hypotheses are not
// held back.
#ifndef ATTNBENCH_HARNESS_MODEL_TRANSLATOR_H_
#define ATTNBENCH_HARNESS_MODEL_TRANSLATOR_H_

#include <functional>
#include <optional>
#include <vector>

#include "harness/model/beam_attention.h"
#include "harness/model/seq2seq.h"

namespace attnbench {

struct TranslationTask {
  std::span<const Symbol> source;
  Index num_steps = 0;
  // The symbol of each step to whose logit `favour` is added; empty: none. With
  // random weights the outputs, and so the states, then change from step to
  // step as those of a trained model do.
  std::span<const Symbol> favoured = {};
  double favour = 0;
  // A row for each step, which outlives the task; null: energies are those that
  // are computed. Hypotheses that stand at one step read the same row.
  const CapturedScores* captured = nullptr;
};

struct Translation {
  std::vector<Symbol> symbols;  // one a step
  double log_probability = 0;
  // The FollowedPosition of each head of each step's attention; empty without
  // attention.
  std::vector<Index> positions;
};

// Is told what a step asks the attention for: the rows' parents and their
// states.
template <class Real>
using AttentionObserver = std::function<void(
    std::span<const Index> parents, const MatrixView<const Real>& states)>;

// This class is not thread-safe.
template <class Real>
class Translator {
 public:
  // What `weights` are views of, the mechanism, and what `inputs` points to
  // outlive this. A null mechanism means no attention. Throws Unsupported as
  // BeamAttention does.
  Translator(const ModelWeights<Real>& weights, const ModelSizes& sizes,
             const Mechanism<Real>* mechanism, const Config& config,
             const SequenceInputs<Real>& inputs);

  std::vector<Symbol> Greedy(const TranslationTask& task);
  // Gives the best hypothesis first, and fewer than `beam` where there are not
  // so many.
  std::vector<Translation> BeamSearch(const TranslationTask& task, Index beam);
  // Later tasks start from `encoded` instead of encoding their source; null
  // encodes again. It outlives them.
  void UseEncoded(const Encoded<Real>* encoded) { given_ = encoded; }
  // Translates to these symbols, one a step, as a hypothesis alone, which shows
  // their log-probability.
  Translation Force(const TranslationTask& task,
                    std::span<const Symbol> symbols);

  // The observer is called at each step until it is set to null.
  void Observe(AttentionObserver<Real> observer) {
    observer_ = std::move(observer);
  }
  // The source of the task that was last begun.
  const Encoded<Real>& encoded() const { return encoded_; }

 private:
  // choose(step, logits) takes symbols_ and parents_ to the next step.
  template <class Choose>
  void Run(const TranslationTask& task, bool alone, const Choose& choose);
  void Attend(const MatrixView<const Real>& states);
  // The positions of the heads of that row in the last step.
  std::vector<Index> Positions(Index row) const;

  // log of the sum of exp of a row.
  double LogSum(std::span<const Real> row);

  const Kernels<Real>& kernels_;
  Encoder<Real> encoder_;
  StepModel<Real> model_;
  std::optional<BeamAttention<Real>> attention_;
  AttentionObserver<Real> observer_;
  const Encoded<Real>* given_ = nullptr;
  Encoded<Real> encoded_;
  std::vector<Symbol> symbols_;
  std::vector<Index> parents_;
  Buffer<Real> scratch_;  // [V]
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MODEL_TRANSLATOR_H_
