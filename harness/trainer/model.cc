#include "harness/trainer/model.h"

#include <torch/types.h>

#include <algorithm>

#include "harness/trainer/lstm.h"

namespace attnbench {
namespace {

using at::Tensor;

LstmStates RunLayer(const Parameters& parameters, const std::string& name,
                    const Tensor& inputs, const Tensor& output,
                    const Tensor& cell) {
  const Tensor& b = parameters[name + ".b"];
  const std::int64_t H = cell.size(1);
  Tensor r = at::zeros({4 * H});
  r.narrow(0, H, H).fill_(kTrainedForgetBias);
  return RunLstm(inputs, parameters[name + ".W"], b + r, output, cell);
}

// Element [index(t, b), b] of each place [t, b] of x [T, B, n].
Tensor Gather(const Tensor& x, const Tensor& index) {
  return x.gather(0, index.unsqueeze(2).expand({-1, -1, x.size(2)}));
}

// Places of a padded batch that read each sequence backwards and leave the
// padding where it is.
Tensor Backwards(const Tensor& lengths, std::int64_t T) {
  const Tensor t = at::arange(T, lengths.options()).view({T, 1});
  const Tensor backwards = lengths.view({1, -1}) - 1 - t;
  return at::where(backwards >= 0, backwards, t);
}

// h or c [B, H] of the last step of each sequence.
Tensor Last(const Tensor& states, const Tensor& lengths) {
  return Gather(states, (lengths - 1).unsqueeze(0)).squeeze(0);
}

}  // namespace

Encoding Model::Encode(const Batch& batch) const {
  const Tensor inputs =
      settings_.task_spec().has_frames()
          ? batch.source
          : at::embedding(parameters_["source_embedding"], batch.source);
  const Tensor zero =
      at::zeros({batch.size(), settings_.encoder_units}, inputs.options());
  std::vector<Tensor> parts, outputs, cells;
  if (settings_.embedding_in_memory) parts.push_back(inputs);
  const LstmStates forward =
      RunLayer(parameters_, "forward", inputs, zero, zero);
  parts.push_back(forward.outputs);
  outputs.push_back(Last(forward.outputs, batch.lengths));
  cells.push_back(Last(forward.cells, batch.lengths));
  if (settings_.bidirectional) {
    const Tensor places = Backwards(batch.lengths, inputs.size(0));
    const LstmStates backward =
        RunLayer(parameters_, "backward", Gather(inputs, places), zero, zero);
    parts.push_back(Gather(backward.outputs, places));
    outputs.push_back(Last(backward.outputs, batch.lengths));
    cells.push_back(Last(backward.cells, batch.lengths));
  }
  const Tensor none = at::zeros({batch.size(), settings_.dim});
  const bool from_encoder = settings_.starts_from_encoder;
  return {.memory = attention_.Prepare(
              at::cat(parts, 2).transpose(0, 1).contiguous(), batch.lengths),
          .first = {.output = from_encoder ? at::cat(outputs, 1) : none,
                    .cell = from_encoder ? at::cat(cells, 1) : none,
                    .context = none}};
}

DecoderOutputs Model::Decode(const Encoding& encoding,
                             const DecoderState& state, const Tensor& symbols,
                             const DecodingOptions& options) const {
  const Tensor embedded =
      at::embedding(parameters_["target_embedding"], symbols);
  if (!settings_.input_feeding) {
    return DecodeTogether(encoding, state, embedded, options);
  }
  std::vector<Tensor> logits, attention, selections, energies;
  DecoderOutputs made{.last = state};
  for (std::int64_t i = 0; i < symbols.size(0); ++i) {
    const Tensor inputs =
        at::cat({embedded[i], made.last.context}, 1).unsqueeze(0);
    DecodingOptions one = options;
    one.noise =
        options.noise.defined() ? options.noise.narrow(2, i, 1) : Tensor();
    made = DecodeTogether(encoding, made.last, inputs, one);
    logits.push_back(made.logits);
    attention.push_back(made.attended.attention);
    selections.push_back(made.attended.selection);
    energies.push_back(made.attended.energies);
  }
  made.logits = at::cat(logits, 0);
  if (made.attended.attention.defined()) {
    made.attended.attention = at::cat(attention, 2);
  }
  if (made.attended.selection.defined()) {
    made.attended.selection = at::cat(selections, 2);
    made.attended.energies = at::cat(energies, 2);
  }
  return made;
}

DecoderOutputs Model::DecodeTogether(const Encoding& encoding,
                                     const DecoderState& state,
                                     const Tensor& inputs,
                                     const DecodingOptions& options) const {
  const LstmStates states =
      RunLayer(parameters_, "decoder", inputs, state.output, state.cell);
  DecoderOutputs made;
  made.attended = attention_.Attend(
      encoding.memory, {.states = states.outputs.transpose(0, 1),
                        .noise = options.noise,
                        .last = state.attention,
                        .is_hard = options.is_hard,
                        .wants_attention = options.wants_attention});
  const auto last = [](const Tensor& of, std::int64_t axis) {
    return of.defined() ? of.select(axis, of.size(axis) - 1) : Tensor();
  };
  made.last = {.output = last(states.outputs, 0),
               .cell = last(states.cells, 0),
               .context = last(made.attended.contexts, 1),
               .attention = made.attended.next};
  made.logits = Logits(states.outputs, made.attended.contexts);
  return made;
}

Tensor Model::Logits(const Tensor& states, const Tensor& contexts) const {
  Tensor features = states;
  if (contexts.defined()) {
    features = at::linear(at::cat({states, contexts.transpose(0, 1)}, 2),
                          parameters_["mix.W"], parameters_["mix.b"])
                   .tanh();
  }
  return at::linear(features, parameters_["output.W"], parameters_["output.b"]);
}

std::vector<std::vector<Symbol>> Model::DecodeGreedily(const Batch& batch,
                                                       Index most,
                                                       bool is_hard) const {
  const at::NoGradGuard no_gradient;
  const Encoding encoding = Encode(batch);
  const std::int64_t B = batch.size();
  std::vector<std::vector<Symbol>> symbols(Size(B));
  std::vector<bool> ended(Size(B));
  DecoderState state = encoding.first;
  Tensor last = at::full({1, B}, kStartSymbol, at::kLong);
  for (Index i = 0; i < most; ++i) {
    const DecoderOutputs made =
        Decode(encoding, state, last, {.is_hard = is_hard});
    state = made.last;
    last = made.logits.argmax(2);
    for (std::int64_t b = 0; b < B; ++b) {
      const auto symbol = static_cast<Symbol>(last.data_ptr<std::int64_t>()[b]);
      if (symbol == kEndSymbol) ended[Size(b)] = true;
      if (!ended[Size(b)]) symbols[Size(b)].push_back(symbol);
    }
    if (std::ranges::find(ended, false) == ended.end()) break;
  }
  return symbols;
}

}  // namespace attnbench
