#include "harness/decoder_model.h"

#include <cmath>
#include <string_view>
#include <type_traits>
#include <utility>

namespace attnbench {
namespace {

constexpr double kLayerGain = 5;
constexpr double kAttentionGain = 8;
constexpr double kFavourBeyondAll = 5;  // e^5 : 1 against all others together

double Gain(std::string_view name, Index cols) {
  if (name.ends_with("_embedding")) {
    return std::sqrt(static_cast<double>(cols));
  }
  if (name.ends_with(".b") || name.starts_with("model.output") ||
      name.starts_with("model.mix")) {
    return 1;
  }
  if (name.starts_with("model.")) return kLayerGain;
  return name.ends_with(".W") || name.ends_with(".V") ? kAttentionGain : 1;
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
