// The model that is trained: an encoder of one LSTM in one or both directions,
// a decoder of one LSTM, and any attention between them.
//
//   encoder  h_t = [embedding of x_t, if embedding_in_memory; outputs of the
//            LSTMs], or frames in place of embeddings
//   decoder  s_i = LSTM([embedding of y_(i-1); c_(i-1) if input_feeding])
//   output   logits_i = W_o tanh(W_m [s_i; c_i] + b_m) + b_o; without attention
//            W_o s_i + b_o
//
// The state that an energy reads is s_i: with input feeding it knows the last
// context, as in MAD. Without it, states follow from the symbols alone, and one
// call makes the attention of all outputs; given the symbols the open loop is
// then exact.
#ifndef ATTNBENCH_HARNESS_TRAINER_MODEL_H_
#define ATTNBENCH_HARNESS_TRAINER_MODEL_H_

#include "harness/trainer/attention.h"
#include "harness/trainer/batch.h"

namespace attnbench {

// What decoding goes on from.
struct DecoderState {
  at::Tensor output = {}, cell = {};  // [B, d], of the LSTM
  at::Tensor context = {};  // [B, d], the last one; only with input feeding
  AttentionState attention = {};
};

struct Encoding {
  AttendedMemory memory = {};
  DecoderState first = {};
};

struct DecoderOutputs {
  at::Tensor logits = {};  // [U, B, V]
  Attended attended = {};
  DecoderState last = {};
};

struct DecodingOptions {
  // As in AttentionRequest.
  at::Tensor noise = {};
  bool is_hard = false;
  bool wants_attention = false;
};

class Model {
 public:
  // Both outlive this.
  Model(const TrainingSettings& settings, const Parameters& parameters)
      : settings_(settings),
        parameters_(parameters),
        attention_(settings, parameters) {}

  Encoding Encode(const Batch& batch) const;

  // The outputs of which `symbols` [U, B] stand before each.
  DecoderOutputs Decode(const Encoding& encoding, const DecoderState& state,
                        const at::Tensor& symbols,
                        const DecodingOptions& options) const;

  // Reads its own outputs, each the symbol of the largest logit, until all
  // sequences have ended or have `most` symbols. Without the end symbols.
  std::vector<std::vector<Symbol>> DecodeGreedily(const Batch& batch,
                                                  Index most,
                                                  bool is_hard) const;

  const AttentionModel& attention() const { return attention_; }

 private:
  // All without a step of attention in between.
  DecoderOutputs DecodeTogether(const Encoding& encoding,
                                const DecoderState& state,
                                const at::Tensor& inputs,
                                const DecodingOptions& options) const;
  at::Tensor Logits(const at::Tensor& states, const at::Tensor& contexts) const;

  const TrainingSettings& settings_;
  const Parameters& parameters_;
  const AttentionModel attention_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINER_MODEL_H_
