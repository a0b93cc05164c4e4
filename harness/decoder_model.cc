#include "harness/decoder_model.h"

#include <cmath>
#include <string_view>
#include <type_traits>
#include <utility>

namespace attnbench {
namespace {

constexpr double kGateGain = 3;
constexpr double kFavourBeyondAll = 5;  // e^5 : 1 against all others together

double Gain(std::string_view name, Index cols) {
  const bool is_model = name.starts_with("model.");
  if (is_model && name.find("embedding") != std::string_view::npos) {
    return std::sqrt(static_cast<double>(cols));
  }
  const bool is_output =
      name.starts_with("model.output") || name.starts_with("model.mix");
  const bool is_bias = name.ends_with(".b");
  return is_output || is_bias ? 1 : kGateGain;
}

}  // namespace

DecoderModel::DecoderModel(const ModelSizes& sizes, std::uint64_t seed)
    : sizes_(sizes), seed_(seed), floats_(seed, &Gain), doubles_(seed, &Gain) {}

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
SequenceInputs<Real> DecoderModel::Inputs(double energy_bias) const {
  SequenceInputs<Real> inputs;
  inputs.parameters = &Parameters<Real>();
  inputs.energy_bias = static_cast<Real>(energy_bias);
  inputs.seed = seed_;
  return inputs;
}

template ModelWeights<float> DecoderModel::Weights(bool) const;
template ModelWeights<double> DecoderModel::Weights(bool) const;
template SequenceInputs<float> DecoderModel::Inputs(double) const;
template SequenceInputs<double> DecoderModel::Inputs(double) const;

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
