#include "harness/point_inputs.h"

#include <fmt/format.h>

#include <cmath>

#include "harness/error.h"
#include "harness/purposes.h"
#include "harness/score_fields.h"
#include "mechanisms/energy/energy.h"
#include "mechanisms/memory/memory.h"

namespace attnbench {
namespace {

bool Takes(const TrainingRequest& request, const std::string& score) {
  for (const auto& list : request.scores) {
    if (Contains(list, score)) return true;
  }
  return false;
}

template <class T>
MatrixView<T> FirstRows(const MatrixView<T>& matrix, Index most) {
  return matrix.data == nullptr ? matrix
                                : matrix.Rows(0, std::min(most, matrix.rows));
}

// The array of that key, made where it is not there yet.
template <class Map, class Make>
typename Map::mapped_type& FindOrMake(Map& map, typename Map::key_type key,
                                      const Make& make) {
  const auto found = map.find(key);
  if (found != map.end()) return found->second;
  typename Map::mapped_type made;
  make(made);
  return map.emplace(std::move(key), std::move(made)).first->second;
}

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
  config.dim = sequence.memory.memory.cols;
  config.energy = kind;
  const OptionSpec keys = KeysOption();
  config.options[keys.name] = keys.default_value;
  const auto energy = MakeEnergy(config, sequence.inputs, role);
  energy->Append(sequence.memory);
  const auto all = [](const MatrixView<const Real>& states) {
    return std::span<const Real>(states.data, Size(states.rows * states.cols));
  };
  energy->EvaluateAll({all(sequence.states), all(sequence.chunk_states)},
                      energies);
}

// scores(n, k) = parameter k . row n.
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
  for (const ScoreField<Real>& field : kScoreFields<Real>) {
    all.push_back(
        {std::string("gradient of ") + field.name, gradients.*field.gradient});
  }
  all.push_back({"gradient of memory", gradients.memory});
  all.push_back({"gradient of chunk_keys", gradients.chunk_keys});
  all.push_back({"gradient of states", gradients.states});
  all.push_back({"gradient of chunk_states", gradients.chunk_states});
  std::erase_if(all, [](const NamedArray<Real>& array) {
    return array.values.data == nullptr;
  });
  return all;
}

template <class Real>
PointInputs<Real>::PointInputs(std::unique_ptr<Workload<Real>> workload)
    : workload_(std::move(workload)) {
  const std::vector<Sequence<Real>> batch =
      workload_->Draw(0, EnergyKind::kDot);
  T_ = batch[0].memory.memory.rows;
  U_ = batch[0].contexts.rows;
  d_ = batch[0].contexts.cols;
  B_ = static_cast<Index>(batch.size());
  gives_scores_ = batch[0].inputs.given != nullptr;
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
  const std::vector<Sequence<Real>> batch =
      workload_->Draw(draw, config.energy);
  TrainingBatch<Real> made;
  if (gives_scores_ || request.attention_only) {
    made.given = std::make_unique<GivenScores<Real>[]>(batch.size());
  }
  for (Index b = 0; b < B_; ++b) {
    TrainingSequence<Real> one;
    one.sequence = batch[Size(b)];
    if (made.given) {
      SetScores(draw, b, config, request, made.given[Size(b)], one.sequence);
    }
    for (auto* states : {&one.sequence.states, &one.sequence.chunk_states}) {
      *states = FirstRows(*states, request.most_outputs);
    }
    SetOutputs(b, request, one);
    if (config.mode == "gradient") SetGradients(b, config, request, one);
    made.sequences.push_back(one);
  }
  return made;
}

template <class Real>
void PointInputs<Real>::SetScores(int draw, Index b, const Config& config,
                                  const TrainingRequest& request,
                                  GivenScores<Real>& given,
                                  Sequence<Real>& sequence) {
  if (gives_scores_) {
    given = *sequence.inputs.given;
  } else {
    for (const std::vector<std::string>& list : request.scores) {
      const std::string& name = list.at(0);
      const MatrixView<const Real> scores =
          Score(name, draw, b, config, sequence);
      for (const ScoreField<Real>& field : kScoreFields<Real>) {
        if (name == field.name) given.*field.given = scores;
      }
    }
    sequence.states = {};
    sequence.chunk_states = {};
  }
  for (auto* of_outputs : {&given.p_choose, &given.energies,
                           &given.chunk_energies, &given.decoder_scores}) {
    *of_outputs = FirstRows(*of_outputs, request.most_outputs);
  }
  sequence.inputs.given = &given;
}

template <class Real>
MatrixView<const Real> PointInputs<Real>::Score(
    const std::string& name, int draw, Index b, const Config& config,
    const Sequence<Real>& sequence) {
  const bool of_contexts = name == "encoder_scores" || name == "decoder_scores";
  const Index rows = RowsOf(name);
  const Index cols = of_contexts ? config.num_contexts : T_;
  const Index kind = of_contexts ? cols : static_cast<Index>(config.energy);
  const auto fill = [&](Array<Real>& array) {
    Allocate(rows, cols, array);
    const MatrixView<Real> scores(array.data(), rows, cols);
    const ParameterSource<Real>& parameters = *sequence.inputs.parameters;
    if (name == "energies" || name == "p_choose") {
      FillEnergies(config.energy, EnergyRole::kAttention, sequence, scores);
    } else if (name == "chunk_energies") {
      FillEnergies(config.energy, EnergyRole::kChunk, sequence, scores);
    } else if (name == "encoder_scores") {
      FillProducts(sequence.memory.memory,
                   parameters.Matrix(memory::kEncoderParameter, cols, d_),
                   scores);
    } else if (name == "decoder_scores") {
      FillProducts(sequence.states,
                   parameters.Matrix(memory::kDecoderParameter, cols, d_),
                   scores);
    } else {
      throw WorkloadUnsupported(
          fmt::format("scope attention has no scores '{}'", name));
    }
    if (name != "p_choose") return;
    for (Real& value : array) value = 1 / (1 + std::exp(-value));
  };
  const Array<Real>& array =
      FindOrMake(scores_, {name, draw * B_ + b, kind}, fill);
  return {array.data(), rows, cols};
}

template <class Real>
Index PointInputs<Real>::RowsOf(const std::string& score) const {
  return score == "encoder_scores" ? T_ : U_;
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

// The cotangent, and views of all gradients that there are.
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
  if (const GivenScores<Real>* const given = sequence.inputs.given) {
    for (const ScoreField<Real>& field : kScoreFields<Real>) {
      const MatrixView<const Real>& scores = given->*field.given;
      if (scores.data == nullptr || !Takes(request, field.name)) continue;
      gradients.*field.gradient =
          Output(field.name, b, RowsOf(field.name), scores.cols)
              .Rows(0, scores.rows);
    }
  }
  if (request.attention_only) return;
  gradients.memory = Output("memory", b, T_, d_);
  if (sequence.inputs.given != nullptr) return;
  const auto of_states = [&](const char* name) {
    return FirstRows(Output(name, b, U_, d_), request.most_outputs);
  };
  gradients.states = of_states("states");
  if (config.energy == EnergyKind::kDot && Takes(request, "chunk_energies")) {
    gradients.chunk_keys = Output("chunk_keys", b, T_, d_);
    gradients.chunk_states = of_states("chunk_states");
  }
}

template std::vector<NamedArray<float>> OutputsOf(
    const TrainingSequence<float>&);
template std::vector<NamedArray<double>> OutputsOf(
    const TrainingSequence<double>&);
template class PointInputs<float>;
template class PointInputs<double>;

}  // namespace attnbench
