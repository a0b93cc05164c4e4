#include "harness/model/reference.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "mechanisms/follow.h"

namespace attnbench {
namespace {

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// W[row] . [x; y] + b[row].
double Affine(const MatrixView<const double>& W,
              const MatrixView<const double>& b, Index row, const Vector& x,
              const Vector& y) {
  double sum = b(0, row);
  for (std::size_t k = 0; k < x.size(); ++k) {
    sum += W(row, static_cast<Index>(k)) * x[k];
  }
  for (std::size_t k = 0; k < y.size(); ++k) {
    sum += W(row, static_cast<Index>(x.size() + k)) * y[k];
  }
  return sum;
}

Vector RowOf(const MatrixView<const double>& m, Index row) {
  return {m.Row(row).begin(), m.Row(row).end()};
}

void Add(const Vector& x, Vector& sum) {
  for (std::size_t k = 0; k < x.size(); ++k) sum[k] += x[k];
}

// Runs the layers of one direction or of the decoder, one after another.
Vector RunLayers(const ModelWeights<double>::Layers& layers, double forget_bias,
                 Vector x, std::vector<LstmState>& states) {
  for (std::size_t n = 0; n < layers.size(); ++n) {
    states[n] = ReferenceLstm(layers[n], forget_bias, x, states[n]);
    x = states[n].h;
  }
  return x;
}

}  // namespace

LstmState ReferenceLstm(const LstmWeights<double>& weights, double forget_bias,
                        const Vector& x, const LstmState& last) {
  const Index H = weights.units();
  LstmState next{Vector(Size(H)), Vector(Size(H))};
  for (Index k = 0; k < H; ++k) {
    const auto gate = [&](Index number) {
      return Affine(weights.W, weights.b, number * H + k, x, last.h);
    };
    const double i = Sigmoid(gate(0));
    const double f = Sigmoid(gate(1) + forget_bias);
    const double g = std::tanh(gate(2));
    const double o = Sigmoid(gate(3));
    next.c[Size(k)] = f * last.c[Size(k)] + i * g;
    next.h[Size(k)] = o * std::tanh(next.c[Size(k)]);
  }
  return next;
}

ReferenceEncoded ReferenceEncode(const ModelWeights<double>& weights,
                                 const ModelSizes& sizes,
                                 std::span<const Symbol> source) {
  const Vector zero(Size(sizes.units));
  const LstmState start{zero, zero};
  ReferenceEncoded encoded{std::vector<Vector>(source.size(), zero),
                           std::vector<LstmState>(Size(sizes.layers), start)};
  for (const bool backwards : {false, true}) {
    std::vector<LstmState> states(Size(sizes.layers), start);
    for (std::size_t step = 0; step < source.size(); ++step) {
      const std::size_t t = backwards ? source.size() - 1 - step : step;
      const Vector output = RunLayers(
          backwards ? weights.backward : weights.forward, sizes.forget_bias,
          RowOf(weights.source_embedding, source[t]), states);
      Add(output, encoded.memory[t]);
    }
    for (std::size_t n = 0; n < states.size(); ++n) {
      Add(states[n].h, encoded.states[n].h);
      Add(states[n].c, encoded.states[n].c);
    }
  }
  return encoded;
}

Translation ReferenceForce(
    const ModelWeights<double>& weights, const ModelSizes& sizes,
    const Mechanism<double>* mechanism, const Config& config,
    const SequenceInputs<double>& inputs, const ReferenceEncoded& encoded,
    const TranslationTask& task, std::span<const Symbol> symbols,
    std::span<const Index> positions) {
  const Index d = sizes.units;
  std::vector<double> memory;
  for (const Vector& entry : encoded.memory) {
    memory.insert(memory.end(), entry.begin(), entry.end());
  }
  std::unique_ptr<Decoder<double>> attention;
  if (mechanism != nullptr) {
    Config of_reference = config;
    of_reference.variant = "reference";
    SequenceInputs<double> of_task = inputs;
    if (task.captured != nullptr) of_task.captured = task.captured->doubles;
    attention = mechanism->MakeDecoder(of_reference, of_task);
    Follow(*attention, positions);
    attention->Append(
        {memory.data(), static_cast<Index>(encoded.memory.size()), d});
    attention->Close();
  }
  Translation translation{.symbols = {symbols.begin(), symbols.end()},
                          .positions = {}};
  std::vector<LstmState> states = encoded.states;
  Vector context(Size(d));
  Symbol last = kStartSymbol;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    Vector x = RowOf(weights.target_embedding, last);
    if (attention) x.insert(x.end(), context.begin(), context.end());
    Vector features = RunLayers(weights.decoder, sizes.forget_bias, x, states);
    if (attention) {
      const StepResult<double> step = attention->Step(features, context);
      ForEachHead(step, [&](const StepResult<double>& head) {
        translation.positions.push_back(FollowedPosition(head));
      });
      Vector mixed(Size(d));
      for (Index k = 0; k < d; ++k) {
        mixed[Size(k)] = std::tanh(Affine(weights.mix_weights, weights.mix_bias,
                                          k, features, context));
      }
      features = mixed;
    }
    Vector logits(Size(sizes.vocabulary));
    for (Index v = 0; v < sizes.vocabulary; ++v) {
      logits[Size(v)] =
          Affine(weights.output_weights, weights.output_bias, v, features, {});
    }
    if (!task.favoured.empty()) logits[Size(task.favoured[i])] += task.favour;
    const double largest = *std::ranges::max_element(logits);
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit - largest);
    last = symbols[i];
    translation.log_probability += logits[Size(last)] - largest - std::log(sum);
  }
  return translation;
}

}  // namespace attnbench
