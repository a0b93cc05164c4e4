#include "harness/inputs/point_inputs.h"

#include <cmath>

#include "harness/base/error.h"
#include "harness/base/purposes.h"
#include "harness/inputs/declared_inputs.h"
#include "harness/inputs/drawn_parameters.h"
#include "harness/machine/environment.h"
#include "mechanisms/description.h"
#include "mechanisms/energy/energy.h"
#include "mechanisms/memory/memory.h"

namespace attnbench {
namespace {

template <class Real>
void Allocate(Index rows, Index cols, Array<Real>& array) {
  CheckFits(Times(Times(rows, cols), sizeof(Real)));
  array.resize(Size(rows * cols));
}

template <class Real>
void FillEnergies(EnergyKind kind, EnergyRole role,
                  const Sequence<Real>& sequence,
                  const MatrixView<Real>& energies) {
  Config config;
  config.dim = sequence.memory.cols;
  config.energy = kind;
  const OptionSpec keys = KeysOption();
  config.options[keys.name] = keys.default_value;
  const auto energy =
      MakeEnergy(config, sequence.inputs, role, EnergyUse::kFew);
  energy->Append(sequence.memory);
  const MatrixView<const Real>& states = sequence.states;
  energy->EvaluateAll({states.data, Size(states.rows * states.cols)}, energies);
}

// Fills in scores(n, k) = parameter k . row n.
template <class Real>
void FillProducts(const MatrixView<const Real>& rows,
                  const MatrixView<const Real>& parameter,
                  const MatrixView<Real>& scores) {
  for (Index n = 0; n < scores.rows; ++n) {
    for (Index k = 0; k < scores.cols; ++k) {
      double sum = 0;
      for (Index c = 0; c < rows.cols; ++c) {
        sum += static_cast<double>(rows(n, c)) *
               static_cast<double>(parameter(k, c));
      }
      scores(n, k) = static_cast<Real>(sum);
    }
  }
}

}  // namespace

template <class Real>
std::vector<NamedArray<Real>> OutputsOf(const TrainingSequence<Real>& one) {
  const Gradients<Real>& gradients = one.gradients;
  std::vector<NamedArray<Real>> all = {{"attention", one.expectation.attention},
                                       {"selection", one.expectation.selection},
                                       {"contexts", one.sequence.contexts}};
  const auto add = [&](const std::string& input, const MatrixView<Real>& view) {
    all.push_back({"gradient of " + input, view});
  };
  for (const auto& [name, view] : gradients.scores) add(name, view);
  add("memory", gradients.memory);
  add("states", gradients.states);
  for (const auto& [name, view] : gradients.further) add(name, view);
  std::erase_if(all, [](const NamedArray<Real>& array) {
    return array.values.data == nullptr;
  });
  return all;
}

template <class Real>
PointInputs<Real>::PointInputs(const WorkloadSpec& spec)
    : workload_(MakeWorkload<Real>(spec)), gaps_(spec.gaps) {
  const std::vector<Sequence<Real>> batch =
      workload_->Draw(0, EnergyKind::kDot);
  T_ = batch[0].memory.rows;
  U_ = batch[0].contexts.rows;
  d_ = batch[0].contexts.cols;
  B_ = static_cast<Index>(batch.size());
  gives_scores_ = !batch[0].inputs.scores.empty();
}

template <class Real>
int PointInputs<Real>::num_training_draws(bool attention_only) {
  const int of_workload = workload_->num_draws();
  if (!attention_only || gives_scores_) return of_workload;
  const Index draw_bytes = Times(Times(B_, Times(U_, T_)), 2 * sizeof(double));
  return static_cast<int>(
      std::clamp<Index>(kMostDrawBytes / draw_bytes, 1, of_workload));
}

template <class Real>
TrainingBatch<Real> PointInputs<Real>::Training(
    int draw, const Config& config, const TrainingRequest& request) {
  ATTN_CHECK(request.mechanism != nullptr);
  const std::vector<Sequence<Real>> batch =
      workload_->Draw(draw, config.energy);
  TrainingBatch<Real> made;
  for (Index b = 0; b < B_; ++b) {
    TrainingSequence<Real> one;
    one.sequence = batch[Size(b)];
    SequenceInputs<Real>& inputs = one.sequence.inputs;
    inputs.further = FurtherOf(*request.mechanism, inputs.further);
    if (request.attention_only && !gives_scores_) {
      MakeScores(draw, b, config, *request.mechanism, batch[Size(b)],
                 one.sequence);
    }
    inputs.scores = FirstOutputs(inputs.scores, request.most_outputs);
    inputs.further = FirstOutputs(inputs.further, request.most_outputs);
    one.sequence.states = FirstRows(one.sequence.states, request.most_outputs);
    SetOutputs(b, request, one);
    if (config.mode == Mode::kGradient) SetGradients(b, config, request, one);
    made.sequences.push_back(one);
  }
  return made;
}

template <class Real>
void PointInputs<Real>::MakeScores(int draw, Index b, const Config& config,
                                   const Description& mechanism,
                                   const Sequence<Real>& scored,
                                   Sequence<Real>& sequence) {
  NamedViews<const Real> scores;
  for (const std::vector<InputSpec>& list : mechanism.scores) {
    scores.Set(list[0].name, Score(list[0], draw, b, config, scored));
  }
  sequence.inputs.scores = std::move(scores);
  sequence.inputs.further = {};
  sequence.states = {};
}

template <class Real>
MatrixView<const Real> PointInputs<Real>::Score(const InputSpec& score,
                                                int draw, Index b,
                                                const Config& config,
                                                const Sequence<Real>& scored) {
  const Index rows = LengthOf(score.shape[0], config);
  const Index cols = LengthOf(score.shape[1], config);
  const bool of_contexts = score.shape[1] == 'K';
  const Index kind = of_contexts ? cols : static_cast<Index>(config.energy);
  const auto fill = [&](Array<Real>& array) {
    Allocate(rows, cols, array);
    FillScore(score, config, scored, {array.data(), rows, cols});
    if (score.domain != Domain::kProbability) return;
    for (Real& value : array) value = 1 / (1 + std::exp(-value));
  };
  const Array<Real>& array =
      FindOrMake(scores_, {score.name, draw * B_ + b, kind}, fill);
  return {array.data(), rows, cols};
}

// Makes a score from the states as our mechanisms would, without the sigmoid,
// or draws uniform numbers if only the mechanism itself knows the score.
template <class Real>
void PointInputs<Real>::FillScore(const InputSpec& score, const Config& config,
                                  const Sequence<Real>& sequence,
                                  const MatrixView<Real>& scores) {
  const auto parameter = [&](const char* name) {
    return sequence.inputs.parameters->Matrix(name, scores.cols, d_);
  };
  if (score.name == kEnergiesInput.name ||
      score.name == kProbabilitiesInput.name) {
    FillEnergies(config.energy, EnergyRole::kAttention, sequence, scores);
  } else if (score.name == kChunkEnergiesInput.name) {
    FillEnergies(config.energy, EnergyRole::kChunk, sequence, scores);
  } else if (score.name == memory::kEncoderScores) {
    FillProducts(sequence.memory, parameter(memory::kEncoderParameter), scores);
  } else if (score.name == memory::kDecoderScores) {
    FillProducts(sequence.states, parameter(memory::kDecoderParameter), scores);
  } else {
    Array<Real> drawn;
    Fill(sequence.inputs.seed, NamedPurpose(score.name), sequence.inputs.stream,
         scores.rows * scores.cols, drawn);
    std::ranges::copy(drawn, scores.data);
  }
}

template <class Real>
Index PointInputs<Real>::LengthOf(char letter, const Config& config) const {
  return letter == 'T'   ? T_
         : letter == 'U' ? U_
         : letter == 'd' ? d_
                         : config.Option<Index>("num_contexts");
}

template <class Real>
template <class Make>
Array<Real>& PointInputs<Real>::FindOrMake(Arrays& arrays, Key key,
                                           const Make& make) {
  const auto found = arrays.find(key);
  if (found != arrays.end()) return found->second;
  Array<Real> made(gaps_);
  make(made);
  return arrays.emplace(std::move(key), std::move(made)).first->second;
}

template <class Real>
MatrixView<Real> PointInputs<Real>::Output(const std::string& name, Index b,
                                           Index rows, Index cols) {
  Array<Real>& array =
      FindOrMake(outputs_, {name, b, cols},
                 [&](Array<Real>& values) { Allocate(rows, cols, values); });
  return {array.data(), rows, cols};
}

template <class Real>
void PointInputs<Real>::SetOutputs(Index b, const TrainingRequest& request,
                                   TrainingSequence<Real>& one) {
  MatrixView<Real>& contexts = one.sequence.contexts;
  contexts = FirstRows(contexts, request.most_outputs);
  if (request.attention_only) contexts = {};
  if (!request.attention_only && !request.want_attention) return;
  one.expectation.attention =
      FirstRows(Output("attention", b, U_, T_), request.most_outputs);
}

// Sets the cotangent, and views of all gradients that there are.
template <class Real>
void PointInputs<Real>::SetGradients(Index b, const Config& config,
                                     const TrainingRequest& request,
                                     TrainingSequence<Real>& one) {
  const Sequence<Real>& sequence = one.sequence;
  const Index cols = request.attention_only ? T_ : d_;
  const Array<Real>& drawn =
      FindOrMake(cotangents_, {"cotangent", b, cols}, [&](Array<Real>& values) {
        CheckFits(Times(Times(U_, cols), sizeof(Real)));
        Fill(sequence.inputs.seed, kCotangentPurpose,
             static_cast<std::uint32_t>(b), U_ * cols, values);
      });
  const MatrixView<const Real> cotangent = FirstRows(
      MatrixView<const Real>(drawn.data(), U_, cols), request.most_outputs);
  (request.attention_only ? one.cotangent.attention : one.cotangent.contexts) =
      cotangent;

  Gradients<Real>& gradients = one.gradients;
  const auto add = [&](const InputSpec* input, const MatrixView<const Real>& of,
                       NamedViews<Real>& to) {
    if (input == nullptr || !input->has_gradient) return;
    const Index rows = LengthOf(input->shape[0], config);
    to.Set(input->name, Output(input->name, b, rows, of.cols).Rows(0, of.rows));
  };
  for (const auto& [name, view] : sequence.inputs.scores) {
    add(FindScore(*request.mechanism, name), view, gradients.scores);
  }
  if (request.attention_only) return;
  gradients.memory = Output("memory", b, T_, d_);
  if (!sequence.inputs.scores.empty()) return;
  gradients.states =
      FirstRows(Output("states", b, U_, d_), request.most_outputs);
  for (const InputSpec& input : FurtherInputs(*request.mechanism, config)) {
    add(&input, sequence.inputs.further.Find(input.name), gradients.further);
  }
}

template std::vector<NamedArray<float>> OutputsOf(
    const TrainingSequence<float>&);
template std::vector<NamedArray<double>> OutputsOf(
    const TrainingSequence<double>&);
template class PointInputs<float>;
template class PointInputs<double>;

}  // namespace attnbench
