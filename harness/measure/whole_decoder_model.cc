#include "harness/measure/whole_decoder_model.h"

#include <fmt/format.h>

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

// The counters, units of the highest layers: after n steps tanh(n CountOf()).
constexpr Index kSymbolCounter = 0;  // of the encoder, forwards
constexpr Index kOutputCounter = 1;  // of the decoder
constexpr Index kLeastRange = 256;
// A gate cannot add as much as 1 to a counter.
constexpr double kMostAdded = 0.95;

double CountOf(const Counting& counting) {
  const Index range =
      counting.longest <= kLeastRange ? kLeastRange : 2 * counting.longest;
  return 1 / static_cast<double>(range);
}

// The decoder's counter starts this many entries behind. With e entries an
// output, output i then chooses the first entry t > e (i + 1) - 1 -
// EntriesBehind(e), both counted from 0. Below e = 1 the last of T / e + 1
// outputs has passed about T entries, and for e = 1/n the bound is at least e/2
// from an entry. From e = 1 on the last output chooses the last entry.
double EntriesBehind(double entries_per_output) {
  return entries_per_output < 1 ? 1.5 * entries_per_output
                                : entries_per_output + 0.5;
}

// The counters' weight in W and V. It moves every feature of an energy by 1/2
// for each entry (for each output, if an output advances by less than an
// entry), so that noise changes no choice.
double CountWeight(const Counting& counting) {
  return 0.5 / CountOf(counting) / std::min(1.0, counting.entries_per_output);
}

// What is left of the other weights of energies with a peak.
constexpr double kPeakNoise = 0.1;

constexpr double kOpen = 20;  // of a gate, whose sigmoid is then 1; -20: 0

// What is fed into the gates of an LSTM's unit at every step.
struct Gates {
  double i, f, g, o;
};
const Gates kIsSilent = {-kOpen, -kOpen, 0, -kOpen};  // c = h = 0

// Adds so much to the counter at every step.
Gates CountingGates(double added) {
  return {kOpen, kOpen, std::atanh(std::min(added, kMostAdded)), kOpen};
}

// h = 0 and a cell from which the decoder starts to count.
Gates StartsBehind(double behind) {
  return {kOpen, -kOpen, -std::atanh(std::min(behind, kMostAdded)), -kOpen};
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

// Of energies v . tanh(W s + V h + b). Where features x = W s + V h move by 1/2
// for each entry (for each output, if it advances by more), energies
//   sum of v (tanh(x + 1) - tanh(x - 1))
// have their peak where x = 0, half an entry behind the one that is chosen; so
// x is also shifted by that. What else is in state and entry counts less, for
// the steps on the way to the peak are small.
template <class Real>
void PlantPeak(const Counting& counting, std::string_view name,
               const MatrixView<Real>& matrix) {
  if (matrix.cols <= kOutputCounter) return;
  const double per_entry = 0.5 / std::max(1.0, counting.entries_per_output);
  const auto weight = static_cast<float>(per_entry / CountOf(counting));
  if (name.ends_with(".W") || name.ends_with(".V")) Scale(kPeakNoise, matrix);
  for (Index r = 0; r < matrix.rows; ++r) {
    if (name.ends_with(".W")) matrix(r, kOutputCounter) = -weight;
    if (name.ends_with(".V")) matrix(r, kSymbolCounter) = weight;
  }
  for (Index k = 0; k < matrix.cols; ++k) {
    const double side = k % 2 == 0 ? 1 : -1;
    if (name.ends_with(".b")) {
      matrix(0, k) = static_cast<float>(side - per_entry / 2);
    } else if (name.ends_with(".v")) {
      matrix(0, k) = static_cast<Real>(side) * std::abs(matrix(0, k));
    }
  }
}

// Of the same energies; v is made positive.
template <class Real>
void PlantEnergies(const Counting& counting, std::string_view name,
                   const MatrixView<Real>& matrix) {
  if (matrix.cols <= kOutputCounter) return;
  const auto weight = static_cast<float>(CountWeight(counting));
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
void MakeCounting(Scan scan, const Counting& counting, Index layers,
                  std::string_view name, const MatrixView<Real>& matrix) {
  Scale(Gain(name, matrix.cols), matrix);
  const double entries = counting.entries_per_output;
  const auto is_highest = [&](const char* stack) {
    return name.starts_with(fmt::format("model.{}.{}.", stack, layers - 1));
  };
  if (is_highest("forward")) {
    PlantGates(kSymbolCounter, CountingGates(CountOf(counting)), matrix);
    PlantGates(kOutputCounter,
               StartsBehind(EntriesBehind(entries) * CountOf(counting)),
               matrix);
  } else if (is_highest("backward")) {
    PlantGates(kSymbolCounter, kIsSilent, matrix);
    PlantGates(kOutputCounter, kIsSilent, matrix);
  } else if (is_highest("decoder")) {
    PlantGates(kOutputCounter, CountingGates(entries * CountOf(counting)),
               matrix);
  } else if (!IsOfEnergies(name)) {
    return;
  } else if (scan == Scan::kAligned) {
    PlantPeak(counting, name, matrix);
  } else {
    PlantEnergies(counting, name, matrix);
  }
}

template <class Real>
ParameterChange<Real> ChangeFor(Scan scan, const Counting& counting,
                                Index layers) {
  if (scan == Scan::kRandom) return MakeRandom<Real>;
  return [scan, counting, layers](std::string_view name,
                                  const MatrixView<Real>& matrix) {
    MakeCounting(scan, counting, layers, name, matrix);
  };
}

}  // namespace

DecoderModel::DecoderModel(const ModelSizes& sizes, std::uint64_t seed,
                           Scan scan, const Counting& counting, ArrayGaps* gaps)
    : sizes_(sizes),
      seed_(seed),
      scan_(scan),
      floats_(seed, ChangeFor<float>(scan, counting, sizes.layers), gaps),
      doubles_(seed, ChangeFor<double>(scan, counting, sizes.layers), gaps) {}

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

}  // namespace attnbench
