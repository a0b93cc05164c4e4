// Decodes with a trained model, without PyTorch: the LSTMs of room `model` and
// a mechanism's own decoder, one source at a time. Where the encoder reads
// forwards alone and the decoder does not start from its end, this is online:
// an entry is encoded when the attention asks for it.
//
// Symbols are those of PyTorch, which computes the same in another order,
// unless two logits, or an energy and 0, are closer than rounding:
// DecodedOutput::margin tells.
#ifndef ATTNBENCH_HARNESS_TRAINING_TRAINED_DECODER_H_
#define ATTNBENCH_HARNESS_TRAINING_TRAINED_DECODER_H_

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/base/arrays.h"
#include "harness/training/checkpoint.h"
#include "mechanisms/energy/energy.h"

namespace attnbench {

struct DecodedOutput {
  Symbol symbol = 0;
  Index entries_read = 0;  // of the source, when the symbol was emitted
  Index position = -1;     // the entry chosen; -1: none, or no choice
  float margin = 0;        // the largest logit less the next
};

// Tables [U, T] of one sequence by the names that InputSpec has.
using NamedTables = std::map<std::string, Table<float>>;

// A decoder has arrays of its own, so it is not thread-safe.
class TrainedDecoder {
 private:
  class Source;

 public:
  // Of the decoder after an output; the context is read with input feeding.
  struct State {
    Array<float> output, cell, context;
  };

  // The decoder over one example whose source is read, for callers who choose
  // the contexts: each output follows the target's symbol before it. Only of
  // mechanisms that choose. The decoder and the example outlive it.
  class Forced {
   public:
    Forced(TrainedDecoder& owner, const Example& example);
    ~Forced();
    MatrixView<const float> memory() const;
    Index num_outputs() const { return std::ssize(example_.target); }
    Index vocabulary() const { return owner_.settings_.vocabulary(); }
    State FirstState() const;
    // Makes the state of output i of the one before and its context.
    void Advance(Index i, State& state) const;
    // Writes the energies of the choice [T], with r.
    void Energies(const State& state, std::span<float> energies) const;
    // The logits of an output with this state and context.
    Array<float> Logits(const State& state) const;

   private:
    TrainedDecoder& owner_;
    const Example& example_;
    const Config config_;
    const SequenceInputs<float> inputs_;
    const std::unique_ptr<Source> source_;
    const std::unique_ptr<Energy<float>> energy_;
  };

  // Throws UserError naming `path` and the place in it if the checkpoint's
  // settings do not fit each other, or its parameters not its settings.
  TrainedDecoder(const Checkpoint& checkpoint, const std::string& path);

  // Reads its own outputs, each the symbol of the largest logit, up to the end
  // symbol, which is the last, or until there are `most`. Mechanisms that
  // choose take the first entry with p >= 1/2.
  std::vector<DecodedOutput> Decode(const Example& source, Index most);

  // What training starts from: `energies`, with r and without noise, and
  // `chunk_energies` where the mechanism has them, of outputs that follow the
  // target's symbols. With input feeding, states follow from expected contexts,
  // by exact alpha. Only of mechanisms that choose
  // (TrainingSettings::is_monotonic).
  NamedTables Scores(const Example& example);

  bool is_online() const {
    return !settings_.bidirectional && !settings_.starts_from_encoder;
  }
  const TrainingSettings& settings() const { return settings_; }

 private:
  // The arrays by name; the v of an energy of MAD eq 16 is g v / |v|.
  class Arrays final : public ParameterSource<float> {
   public:
    explicit Arrays(const Checkpoint& checkpoint);
    MatrixView<const float> Matrix(std::string_view name, Index rows,
                                   Index cols) const override;
    LstmWeights<float> Lstm(const std::string& name, Index inputs,
                            Index units) const;
    float Scalar(const std::string& name) const;

   private:
    std::map<std::string, Array<float>, std::less<>> arrays_;
  };

  Config MechanismConfig() const;
  SequenceInputs<float> Inputs(Index entries) const;
  State FirstState(const Source& source) const;
  // Reads the last symbol; writes all but the context.
  void StepState(Symbol last, State& state);
  Array<float> Logits(const State& state) const;
  // The expected context of the last of the first `outputs` outputs.
  Array<float> LastExpectedContext(const NamedTables& tables, Index outputs,
                                   const MatrixView<const float>& memory) const;
  // y = W x + b.
  void Linear(const std::string& name, const Array<float>& x,
              Array<float>& y) const;

  const TrainingSettings settings_;
  const Arrays arrays_;
  const Mechanism<float>* mechanism_ = nullptr;  // null: no attention
  std::vector<LstmLayer<float>> encoders_;       // forward, backward
  LstmLayer<float> decoder_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINING_TRAINED_DECODER_H_
