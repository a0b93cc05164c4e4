#include "harness/training/trained_decoder.h"

#include <algorithm>
#include <cmath>

#include "harness/sweep/default_config.h"
#include "harness/training/parameter_specs.h"
#include "mechanisms/registry.h"

namespace attnbench {
namespace {

using View = MatrixView<float>;

View RowOf(Array<float>& array) { return {array.data(), 1, std::ssize(array)}; }

// Concatenates.
Array<float> Joined(std::initializer_list<std::span<const float>> parts) {
  Array<float> joined;
  for (const auto part : parts) {
    joined.insert(joined.end(), part.begin(), part.end());
  }
  return joined;
}

}  // namespace

TrainedDecoder::Arrays::Arrays(const Checkpoint& checkpoint) {
  for (const auto& [name, array] : checkpoint.parameters) {
    Array<float>& numbers = arrays_[name];
    for (const double x : array.values) {
      numbers.push_back(static_cast<float>(x));
    }
  }
  for (const std::string energy : {"attention", "chunk"}) {
    const auto v = arrays_.find(energy + ".v");
    if (v == arrays_.end()) continue;
    double squares = 0;
    for (const float x : v->second) squares += double{x} * double{x};
    const double scale = double{Scalar(energy + ".g")} / std::sqrt(squares);
    for (float& x : v->second) x = static_cast<float>(scale * double{x});
  }
}

MatrixView<const float> TrainedDecoder::Arrays::Matrix(std::string_view name,
                                                       Index rows,
                                                       Index cols) const {
  const Array<float>& array = arrays_.find(name)->second;
  ATTN_CHECK_EQ(std::ssize(array), rows * cols);
  return {array.data(), rows, cols};
}

LstmWeights<float> TrainedDecoder::Arrays::Lstm(const std::string& name,
                                                Index inputs,
                                                Index units) const {
  return {Matrix(name + ".W", 4 * units, inputs + units),
          Matrix(name + ".b", 1, 4 * units)};
}

float TrainedDecoder::Arrays::Scalar(const std::string& name) const {
  return Matrix(name, 1, 1)(0, 0);
}

// A source, as far as it is read, with its memory.
class TrainedDecoder::Source {
 public:
  Source(TrainedDecoder& owner, const Example& example)
      : owner_(owner),
        settings_(owner.settings_),
        example_(example),
        length_(example.source_length()),
        memory_(Size(length_ * settings_.dim)),
        forward_output_(Size(settings_.encoder_units)),
        forward_cell_(Size(settings_.encoder_units)) {}

  Index entries_read() const { return read_; }
  bool IsRead() const { return read_ == length_; }

  // Encodes the next entry, forwards, and gives it: [1, d], of which the
  // backward direction's part is written by ReadBackwards.
  MatrixView<const float> ReadNext() {
    const Index t = read_++;
    const std::span<const float> input = Input(t);
    const View entry = Entry(t);
    float* next = entry.data;
    if (settings_.embedding_in_memory) {
      next = std::ranges::copy(input, next).out;
    }
    const Array<float> joined = Joined({input, forward_output_});
    owner_.encoders_[0].Step({joined.data(), 1, std::ssize(joined)},
                             RowOf(forward_cell_), RowOf(forward_output_));
    std::ranges::copy(forward_output_, next);
    return entry;
  }

  // Reads what is left, in both directions.
  void ReadAll() {
    while (!IsRead()) ReadNext();
    if (!settings_.bidirectional) return;
    const Index n = settings_.source_size(), H = settings_.encoder_units;
    Array<float> inputs;
    for (Index t = 0; t < length_; ++t) {
      inputs.insert(inputs.end(), Input(t).begin(), Input(t).end());
    }
    backward_cell_.resize(Size(H));
    owner_.encoders_[1].Run(
        {inputs.data(), length_, n}, /*backwards=*/true,
        {memory_.data() + settings_.dim - H, length_, H, settings_.dim},
        backward_cell_);
  }

  MatrixView<const float> memory() const {
    return {memory_.data(), length_, settings_.dim};
  }
  // The last states of both directions beside each other, once all is read.
  Array<float> LastOutput() const {
    const float* const backward =
        memory_.data() + settings_.dim - settings_.encoder_units;
    if (!settings_.bidirectional) return forward_output_;
    return Joined({forward_output_, {backward, forward_output_.size()}});
  }
  Array<float> LastCell() const {
    return Joined({forward_cell_, backward_cell_});
  }

 private:
  View Entry(Index t) {
    return {memory_.data() + t * settings_.dim, 1, settings_.dim};
  }
  std::span<const float> Input(Index t) const {
    const Index n = settings_.source_size();
    if (example_.tokens.empty()) {
      return {&example_.frames[Size(t * n)], Size(n)};
    }
    return owner_.arrays_.Matrix("source_embedding", kTaskVocabulary, n)
        .Row(example_.tokens[Size(t)]);
  }

  TrainedDecoder& owner_;
  const TrainingSettings& settings_;
  const Example& example_;
  const Index length_;
  Index read_ = 0;
  Array<float> memory_;  // [T, d]
  Array<float> forward_output_, forward_cell_, backward_cell_;
};

TrainedDecoder::TrainedDecoder(const Checkpoint& checkpoint,
                               const std::string& path)
    : settings_(checkpoint.run.settings),
      arrays_([&]() -> const Checkpoint& {
        CheckParameters(ParameterSpecsOf(checkpoint.run.settings),
                        checkpoint.parameters, path);
        return checkpoint;
      }()),
      mechanism_(settings_.mechanism == "none"
                     ? nullptr
                     : FindMechanism<float>(settings_.mechanism)),
      decoder_(
          arrays_.Lstm("decoder", settings_.decoder_inputs(), settings_.dim),
          kTrainedForgetBias) {
  const Index n = settings_.source_size(), H = settings_.encoder_units;
  encoders_.emplace_back(arrays_.Lstm("forward", n, H), kTrainedForgetBias);
  if (settings_.bidirectional) {
    encoders_.emplace_back(arrays_.Lstm("backward", n, H), kTrainedForgetBias);
  }
}

Config TrainedDecoder::MechanismConfig() const {
  Config config = DefaultConfig(mechanism_->Describe());
  config.dim = settings_.dim;
  config.chunk_width = settings_.chunk_width;
  config.num_contexts = settings_.num_contexts;
  config.energy = EnergyKind::kAdditive;
  if (settings_.mechanism == "memory") {
    config.options["encoder_scoring"] = settings_.encoder_scoring;
    config.options["decoder_scoring"] = settings_.decoder_scoring;
    config.options["position_encoding"] = settings_.position_encoding;
    config.options["place"] = settings_.place;
    config.options["max_length"] = settings_.longest_source();
  }
  return config;
}

void TrainedDecoder::Linear(const std::string& name, const Array<float>& x,
                            Array<float>& y) const {
  const Index rows = std::ssize(y), cols = std::ssize(x);
  const Kernels<float>& kernels = BestKernels<float>();
  const float* const W = arrays_.Matrix(name + ".W", rows, cols).data;
  kernels.dot_rows(x.data(), W, cols, rows, cols, y.data());
  kernels.add(y.data(), arrays_.Matrix(name + ".b", 1, rows).data, rows,
              y.data());
}

std::vector<DecodedOutput> TrainedDecoder::Decode(const Example& example,
                                                  Index most) {
  const Index d = settings_.dim;
  Source source(*this, example);
  Array<float> output(Size(d)), cell(Size(d)), context(Size(d));
  std::unique_ptr<Decoder<float>> attention;
  if (mechanism_ != nullptr) {
    SequenceInputs<float> inputs{.parameters = &arrays_};
    if (settings_.is_monotonic()) {
      inputs.energy_bias = arrays_.Scalar("attention.r");
    }
    inputs.expected_length = example.source_length();
    attention = mechanism_->MakeDecoder(MechanismConfig(), inputs);
  }
  if (!is_online()) {
    source.ReadAll();
    if (attention) {
      attention->Append(source.memory());
      attention->Close();
    }
  }
  if (settings_.starts_from_encoder) {
    output = source.LastOutput();
    cell = source.LastCell();
  }
  std::vector<DecodedOutput> outputs;
  Symbol last = kStartSymbol;
  while (last != kEndSymbol && std::ssize(outputs) < most) {
    const std::span<const float> embedded =
        arrays_.Matrix("target_embedding", kTaskVocabulary, settings_.embedding)
            .Row(last);
    const Array<float> joined = settings_.input_feeding
                                    ? Joined({embedded, context, output})
                                    : Joined({embedded, output});
    decoder_.Step({joined.data(), 1, std::ssize(joined)}, RowOf(cell),
                  RowOf(output));
    DecodedOutput made;
    Array<float> features = output;
    if (attention) {
      StepResult<float> step = attention->Step(output, context);
      while (step.need_memory) {
        if (source.IsRead()) {
          attention->Close();
        } else {
          attention->Append(source.ReadNext());
        }
        step = attention->Step(output, context);
      }
      made.position = step.position;
      Linear("mix", Joined({output, context}), features);
      for (float& x : features) x = std::tanh(x);
    }
    Array<float> logits(Size(kTaskVocabulary));
    Linear("output", features, logits);
    const auto best = std::ranges::max_element(logits);
    last = static_cast<Symbol>(best - logits.begin());
    made.symbol = last;
    made.entries_read = source.entries_read();
    const float largest = *best;
    *best = -INFINITY;
    made.margin = largest - *std::ranges::max_element(logits);
    outputs.push_back(made);
  }
  return outputs;
}

}  // namespace attnbench
