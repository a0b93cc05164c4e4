// The room `inputs` makes what the cells of a point read.
//
// That is everything that they read and write in one precision: the draws of
// the workload and, for modes expect and gradient, scores, cotangents and the
// arrays of results. Every cell of the point has the same numbers, and writes
// into the same arrays, so that memory does not grow with the number of cells.
#ifndef ATTNBENCH_HARNESS_INPUTS_POINT_INPUTS_H_
#define ATTNBENCH_HARNESS_INPUTS_POINT_INPUTS_H_

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "harness/base/arrays.h"
#include "harness/inputs/workload.h"
#include "mechanisms/train.h"

namespace attnbench {

// The part of training that a cell runs.
struct TrainingRequest {
  // Whether scope is attention: from scores to attention, not from memory and
  // states to contexts.
  bool attention_only = false;
  // The mechanism whose inputs are to be made; it outlives the request.
  const Description* mechanism = nullptr;
  bool want_attention = false;  // even in scope full
  // The most outputs to make; the first rows do not depend on later ones.
  Index most_outputs = std::numeric_limits<Index>::max();
};

// The sequences of a draw, ready for TrainBatch in the mode of the config.
template <class Real>
struct TrainingBatch {
  std::vector<TrainingSequence<Real>> sequences;

  // Parameters have gradients where energies follow from states: they are
  // added to these, one for each sequence, which outlive the batch.
  void AddParametersTo(std::vector<ParameterGradients<Real>>& sums) {
    sums.resize(sequences.size());
    for (std::size_t b = 0; b < sums.size(); ++b) {
      if (!sequences[b].sequence.inputs.scores.empty()) continue;
      sequences[b].gradients.parameters = &sums[b];
    }
  }
};

// An array that a sequence writes, with its name in messages.
template <class Real>
struct NamedArray {
  std::string name;
  MatrixView<Real> values;
};

// The arrays that have data, without those of parameters.
template <class Real>
std::vector<NamedArray<Real>> OutputsOf(const TrainingSequence<Real>& one);

// This class is not thread-safe.
template <class Real>
class PointInputs {
 public:
  explicit PointInputs(const WorkloadSpec& spec);

  Workload<Real>& workload() { return *workload_; }

  // The number of draws of modes expect and gradient: all of the workload; in
  // scope attention as many as keep the tables of scores [U, T] under
  // kMostDrawBytes, at least one.
  int num_training_draws(bool attention_only);

  // Makes a draw for the request's mechanism. The cotangent is uniform in [-1,
  // 1) and the same for all draws.
  //
  // In scope attention the scores are those of the workload where it gives
  // scores, and else made from its states, once for all mechanisms: energies
  // and chunk energies by the energy function of the config, encoder and
  // decoder scores as dot products with the parameters of Britz' mechanism;
  // scores that the harness does not know are uniform. The mechanism gets the
  // first score of each of its lists: p_choose, the sigmoid of the energies,
  // before energies.
  //
  // Throws what the workload throws, and std::bad_alloc.
  TrainingBatch<Real> Training(int draw, const Config& config,
                               const TrainingRequest& request);

 private:
  using Key = std::tuple<std::string, Index, Index>;
  using Arrays = std::map<Key, Array<Real>>;

  // `scored` is sequence b with the further inputs of all mechanisms: which
  // mechanism asks first for a score changes nothing in it.
  void MakeScores(int draw, Index b, const Config& config,
                  const Description& mechanism, const Sequence<Real>& scored,
                  Sequence<Real>& sequence);
  MatrixView<const Real> Score(const InputSpec& score, int draw, Index b,
                               const Config& config,
                               const Sequence<Real>& scored);
  void FillScore(const InputSpec& score, const Config& config,
                 const Sequence<Real>& sequence,
                 const MatrixView<Real>& scores);
  void SetOutputs(Index b, const TrainingRequest& request,
                  TrainingSequence<Real>& one);
  void SetGradients(Index b, const Config& config,
                    const TrainingRequest& request,
                    TrainingSequence<Real>& one);
  Index LengthOf(char letter, const Config& config) const;
  MatrixView<Real> Output(const std::string& name, Index b, Index rows,
                          Index cols);

  // The array of that key; make(array) makes it if it is not there yet.
  template <class Make>
  Array<Real>& FindOrMake(Arrays& arrays, Key key, const Make& make);

  std::unique_ptr<Workload<Real>> workload_;
  ArrayGaps* const gaps_;
  Index T_ = 0, U_ = 0, d_ = 0, B_ = 0;
  bool gives_scores_ = false;
  Arrays scores_;  // the key is name, draw and sequence, energy function or K
  Arrays cotangents_;  // the key is name, sequence, columns
  Arrays outputs_;     // the key is name, sequence, columns
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_INPUTS_POINT_INPUTS_H_
