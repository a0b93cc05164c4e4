#include "harness/model/weights.h"

#include <string>

namespace attnbench {
namespace {

template <class Real>
typename ModelWeights<Real>::Layers LayersOf(
    const ParameterSource<Real>& source, const std::string& name, Index inputs,
    const ModelSizes& sizes) {
  const Index units = sizes.units;
  typename ModelWeights<Real>::Layers layers;
  for (Index n = 0; n < sizes.layers; ++n) {
    const std::string prefix = "model." + name + "." + std::to_string(n) + ".";
    layers.push_back({source.Matrix(prefix + "W", 4 * units,
                                    (n == 0 ? inputs : units) + units),
                      source.Matrix(prefix + "b", 1, 4 * units)});
  }
  return layers;
}

}  // namespace

template <class Real>
ModelWeights<Real> WeightsOf(const ParameterSource<Real>& source,
                             const ModelSizes& sizes, bool has_attention) {
  const Index V = sizes.vocabulary;
  const Index d = sizes.units;
  ModelWeights<Real> weights;
  weights.source_embedding = source.Matrix("model.source_embedding", V, d);
  weights.target_embedding = source.Matrix("model.target_embedding", V, d);
  weights.forward = LayersOf(source, "forward", d, sizes);
  weights.backward = LayersOf(source, "backward", d, sizes);
  weights.decoder =
      LayersOf(source, "decoder", has_attention ? 2 * d : d, sizes);
  if (has_attention) {
    weights.mix_weights = source.Matrix("model.mix.W", d, 2 * d);
    weights.mix_bias = source.Matrix("model.mix.b", 1, d);
  }
  weights.output_weights = source.Matrix("model.output.W", V, d);
  weights.output_bias = source.Matrix("model.output.b", 1, V);
  return weights;
}

template ModelWeights<float> WeightsOf(const ParameterSource<float>&,
                                       const ModelSizes&, bool);
template ModelWeights<double> WeightsOf(const ParameterSource<double>&,
                                        const ModelSizes&, bool);

}  // namespace attnbench
