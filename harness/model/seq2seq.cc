#include "harness/model/seq2seq.h"

#include <algorithm>
#include <utility>

#include "mechanisms/common/eigen_views.h"

namespace attnbench {
namespace {

template <class Real>
std::vector<LstmLayer<Real>> MakeLayers(
    const typename ModelWeights<Real>::Layers& weights,
    const ModelSizes& sizes) {
  std::vector<LstmLayer<Real>> layers;
  for (const LstmWeights<Real>& of_layer : weights) {
    layers.emplace_back(of_layer, sizes.forget_bias);
  }
  return layers;
}

}  // namespace

template <class Real>
Encoder<Real>::Encoder(const ModelWeights<Real>& weights,
                       const ModelSizes& sizes)
    : kernels_(BestKernels<Real>()),
      dim_(sizes.units),
      embedding_(weights.source_embedding),
      forward_(MakeLayers<Real>(weights.forward, sizes)),
      backward_(MakeLayers<Real>(weights.backward, sizes)),
      cell_(Size(sizes.units)) {}

template <class Real>
Encoded<Real> Encoder<Real>::Encode(std::span<const Symbol> source) {
  const auto length = static_cast<Index>(source.size());
  embedded_.resize(Size(length * dim_));
  lower_.resize(embedded_.size());
  upper_.resize(embedded_.size());
  memory_.assign(embedded_.size(), 0);
  const auto layers = static_cast<Index>(forward_.size());
  cells_.assign(Size(layers * dim_), 0);
  outputs_.assign(Size(layers * dim_), 0);
  for (Index t = 0; t < length; ++t) {
    std::ranges::copy(embedding_.Row(source[Size(t)]),
                      &embedded_[Size(t * dim_)]);
  }
  AddDirection(forward_, /*backwards=*/false, length);
  AddDirection(backward_, /*backwards=*/true, length);
  return {.memory = {memory_.data(), length, dim_},
          .cells = {cells_.data(), layers, dim_},
          .outputs = {outputs_.data(), layers, dim_}};
}

template <class Real>
void Encoder<Real>::AddDirection(std::vector<LstmLayer<Real>>& layers,
                                 bool backwards, Index length) {
  const Real* inputs = embedded_.data();
  if (length == 0) return;
  for (Index n = 0; n < std::ssize(layers); ++n) {
    Buffer<Real>& outputs = n % 2 == 0 ? lower_ : upper_;
    layers[Size(n)].Run({inputs, length, dim_}, backwards,
                        {outputs.data(), length, dim_}, cell_);
    const Real* const last =
        &outputs[Size(backwards ? 0 : (length - 1) * dim_)];
    Real* const cell_sum = &cells_[Size(n * dim_)];
    Real* const output_sum = &outputs_[Size(n * dim_)];
    kernels_.add(cell_sum, cell_.data(), dim_, cell_sum);
    kernels_.add(output_sum, last, dim_, output_sum);
    inputs = outputs.data();
  }
  kernels_.add(memory_.data(), inputs, length * dim_, memory_.data());
}

template <class Real>
StepModel<Real>::StepModel(const ModelWeights<Real>& weights,
                           const ModelSizes& sizes)
    : kernels_(BestKernels<Real>()), dim_(sizes.units), weights_(weights) {
  for (LstmLayer<Real>& lstm : MakeLayers<Real>(weights.decoder, sizes)) {
    layers_.push_back({.lstm = std::move(lstm)});
  }
}

template <class Real>
void StepModel<Real>::Start(const Encoded<Real>& encoded) {
  rows_ = 1;
  for (Index n = 0; n < std::ssize(layers_); ++n) {
    Layer& layer = layers_[Size(n)];
    std::ranges::copy(encoded.cells.Row(n), Rows(layer.cells, dim_).data);
    std::ranges::copy(encoded.outputs.Row(n), Rows(layer.outputs, dim_).data);
  }
  if (weights_.has_attention()) {
    std::fill_n(Rows(contexts_, dim_).data, dim_, Real{0});
  }
}

template <class Real>
MatrixView<const Real> StepModel<Real>::Advance(
    std::span<const Symbol> symbols, std::span<const Index> parents) {
  rows_ = static_cast<Index>(symbols.size());
  Layer& lowest = layers_[0];
  const MatrixView<Real> joined =
      Rows(lowest.joined, lowest.lstm.inputs() + dim_);
  for (Index r = 0; r < rows_; ++r) {
    Real* const row = joined.Row(r).data();
    std::ranges::copy(weights_.target_embedding.Row(symbols[Size(r)]), row);
    if (weights_.has_attention()) {
      std::copy_n(&contexts_[Size(parents[Size(r)] * dim_)], dim_, row + dim_);
    }
  }
  for (Index n = 0; n < std::ssize(layers_); ++n) {
    Layer& layer = layers_[Size(n)];
    const Index inputs = layer.lstm.inputs();
    const MatrixView<Real> all = Rows(layer.joined, inputs + dim_);
    std::swap(layer.cells, layer.last_cells);
    const MatrixView<Real> cells = Rows(layer.cells, dim_);
    for (Index r = 0; r < rows_; ++r) {
      const Index from = parents[Size(r)] * dim_;
      Real* const row = all.Row(r).data();
      if (n > 0) {
        std::copy_n(&layers_[Size(n - 1)].outputs[Size(r * dim_)], dim_, row);
      }
      std::copy_n(&layer.outputs[Size(from)], dim_, row + inputs);
      std::copy_n(&layer.last_cells[Size(from)], dim_, cells.Row(r).data());
    }
    layer.lstm.Step(all, cells, Rows(layer.outputs, dim_));
  }
  if (weights_.has_attention()) Rows(contexts_, dim_);
  return Rows(layers_.back().outputs, dim_);
}

template <class Real>
MatrixView<Real> StepModel<Real>::contexts() {
  if (!weights_.has_attention()) return {};
  return Rows(contexts_, dim_);
}

template <class Real>
MatrixView<Real> StepModel<Real>::Logits() {
  MatrixView<const Real> features = Rows(layers_.back().outputs, dim_);
  if (weights_.has_attention()) {
    const MatrixView<Real> joined = Rows(mix_joined_, 2 * dim_);
    for (Index r = 0; r < rows_; ++r) {
      Real* const row = joined.Row(r).data();
      std::ranges::copy(features.Row(r), row);
      std::copy_n(&contexts_[Size(r * dim_)], dim_, row + dim_);
    }
    const MatrixView<Real> mixed = Rows(mixed_, dim_);
    Map(mixed).noalias() = Map(MatrixView<const Real>(joined)) *
                           Map(weights_.mix_weights).transpose();
    Map(mixed).rowwise() += Map(weights_.mix_bias).row(0);
    Map(mixed).array() = Map(mixed).array().tanh();
    features = mixed;
  }
  const MatrixView<Real> logits = Rows(logits_, weights_.output_weights.rows);
  Map(logits).noalias() =
      Map(features) * Map(weights_.output_weights).transpose();
  Map(logits).rowwise() += Map(weights_.output_bias).row(0);
  return logits;
}

template class Encoder<float>;
template class Encoder<double>;
template class StepModel<float>;
template class StepModel<double>;

}  // namespace attnbench
