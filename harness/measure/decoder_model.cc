#include "harness/measure/decoder_model.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <type_traits>
#include <utility>

namespace attnbench {
namespace {

constexpr double kLayerGain = 5;
constexpr double kEnergyGain = 8;
// r of random scans: about half a standard deviation of additive energies, so
// that scans pass over entries.
constexpr double kRandomBias = -0.5;
constexpr double kFavourBeyondAll = 5;  // e^5 : 1 against all others together

// The counters, units of the upper layers: after n steps tanh(n kCount).
constexpr Index kSymbolCounter = 0;  // of the encoder, forwards
constexpr Index kOutputCounter = 1;  // of the decoder
constexpr double kCount = 1.0 / 256;
// With s entries an output, output i, from 0, chooses the first entry, from 0,
// after s (i - 1/2) - 1, so the last of T + 1 has passed about s T. For s = 1/n
// that is never an entry, and at least s/2 from one.
constexpr double kOutputsBehind = 1.5;
// What W and V make of s entries, of every feature of the energy: 1/2, so that
// noise moves no choice.
constexpr double kCountWeight = 128;

constexpr double kOpen = 20;  // of a gate, whose sigmoid is then 1; -20: 0

// What is fed into the gates of an LSTM's unit at every step.
struct Gates {
  double i, f, g, o;
};
const Gates kIsSilent = {-kOpen, -kOpen, 0, -kOpen};  // c = h = 0

// Counts by so many entries a step.
Gates CountingGates(double entries) {
  return {kOpen, kOpen, std::atanh(entries * kCount), kOpen};
}

// h = 0 and a cell from which the decoder starts to count by so many entries.
Gates StartsBehind(double entries) {
  return {kOpen, -kOpen, std::atanh(-kOutputsBehind * entries * kCount),
          -kOpen};
}

// In W [4 H, n + H] nothing feeds the unit, in b [1, 4 H] this does.
template <class Real>
void PlantGates(Index unit, const Gates& gates,
                const MatrixView<Real>& matrix) {
  const bool is_bias = matrix.rows == 1;
  const Index H = (is_bias ? matrix.cols : matrix.rows) / 4;
  if (H <= kOutputCounter) return;
  Index row = unit;
  for (const double gate : {gates.i, gates.f, gates.g, gates.o}) {
    if (is_bias) {
      matrix(0, row) = static_cast<float>(gate);
    } else {
      std::ranges::fill(matrix.Row(row), Real{0});
    }
    row += H;
  }
}

// Of energies v . tanh(W s + V h + b); v is made positive.
template <class Real>
void PlantEnergies(double memory_share, std::string_view name,
                   const MatrixView<Real>& matrix) {
  if (matrix.cols <= kOutputCounter) return;
  const auto weight = static_cast<float>(kCountWeight / memory_share);
  for (Index r = 0; r < matrix.rows; ++r) {
    if (name.ends_with(".W")) matrix(r, kOutputCounter) = -weight;
    if (name.ends_with(".V")) matrix(r, kSymbolCounter) = weight;
  }
  if (!name.ends_with(".v")) return;
  for (Real& value : matrix.Row(0)) value = std::abs(value);
}

double Gain(std::string_view name, Index cols) {
  if (name.ends_with("_embedding")) {
    return std::sqrt(static_cast<double>(cols));
  }
  const bool is_layer = name.starts_with("model.") && name.ends_with(".W") &&
                        !name.starts_with("model.output") &&
                        !name.starts_with("model.mix");
  return is_layer ? kLayerGain : 1;
}

bool IsOfEnergies(std::string_view name) { return !name.starts_with("model."); }

template <class Real>
void MakeRandom(std::string_view name, const MatrixView<Real>& matrix) {
  const bool is_projection = name.ends_with(".W") || name.ends_with(".V");
  Scale(IsOfEnergies(name) && is_projection ? kEnergyGain
                                            : Gain(name, matrix.cols),
        matrix);
}

template <class Real>
void MakeCounting(double memory_share, std::string_view name,
                  const MatrixView<Real>& matrix) {
  Scale(Gain(name, matrix.cols), matrix);
  if (name.starts_with("model.forward.1.")) {
    PlantGates(kSymbolCounter, CountingGates(1), matrix);
    PlantGates(kOutputCounter, StartsBehind(memory_share), matrix);
  } else if (name.starts_with("model.backward.1.")) {
    PlantGates(kSymbolCounter, kIsSilent, matrix);
    PlantGates(kOutputCounter, kIsSilent, matrix);
  } else if (name.starts_with("model.decoder.1.")) {
    PlantGates(kOutputCounter, CountingGates(memory_share), matrix);
  } else if (IsOfEnergies(name)) {
    PlantEnergies(memory_share, name, matrix);
  }
}

template <class Real>
ParameterChange<Real> ChangeFor(Scan scan, double memory_share) {
  if (scan == Scan::kRandom) return MakeRandom<Real>;
  return [memory_share](std::string_view name, const MatrixView<Real>& matrix) {
    MakeCounting(memory_share, name, matrix);
  };
}

}  // namespace

DecoderModel::DecoderModel(const ModelSizes& sizes, std::uint64_t seed,
                           Scan scan, double memory_share)
    : sizes_(sizes),
      seed_(seed),
      scan_(scan),
      floats_(seed, ChangeFor<float>(scan, memory_share)),
      doubles_(seed, ChangeFor<double>(scan, memory_share)) {}

template <class Real>
const DrawnParameters<Real>& DecoderModel::Parameters() const {
  if constexpr (std::is_same_v<Real, float>) {
    return floats_;
  } else {
    return doubles_;
  }
}

template <class Real>
ModelWeights<Real> DecoderModel::Weights(bool has_attention) const {
  return WeightsOf(Parameters<Real>(), sizes_, has_attention);
}

template <class Real>
SequenceInputs<Real> DecoderModel::Inputs() const {
  SequenceInputs<Real> inputs;
  inputs.parameters = &Parameters<Real>();
  inputs.seed = seed_;
  if (scan_ == Scan::kRandom)
    inputs.energy_bias = static_cast<Real>(kRandomBias);
  return inputs;
}

template ModelWeights<float> DecoderModel::Weights(bool) const;
template ModelWeights<double> DecoderModel::Weights(bool) const;
template SequenceInputs<float> DecoderModel::Inputs() const;
template SequenceInputs<double> DecoderModel::Inputs() const;

CopyTask::CopyTask(std::vector<Symbol> source, Index vocabulary)
    : source_(std::move(source)),
      target_(source_),
      favour_(std::log(static_cast<double>(vocabulary)) + kFavourBeyondAll) {
  target_.push_back(kEndSymbol);
}

TranslationTask CopyTask::task() const {
  return {.source = source_,
          .num_steps = length() + 1,
          .favoured = target_,
          .favour = favour_};
}

}  // namespace attnbench
