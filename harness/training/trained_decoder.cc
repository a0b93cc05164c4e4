#include "harness/training/trained_decoder.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/training/parameter_shapes.h"
#include "mechanisms/decode.h"
#include "mechanisms/description.h"
#include "mechanisms/energy/energy.h"
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
    if (v == arrays_.end() || !arrays_.contains(energy + ".g")) continue;
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
    return owner_.arrays_
        .Matrix("source_embedding", settings_.source_vocabulary(), n)
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
        const Place file(path), run(file, "run"), place(run, "settings");
        const TrainingSettings& settings = checkpoint.run.settings;
        CheckSettings(settings, place);
        if (settings.energy_units.value_or(settings.dim) != settings.dim) {
          FailAt(Place(place, "energy_units"),
                 fmt::format("is {}: `attnbench train` alone decodes with "
                             "energies of other than dim, {}",
                             *settings.energy_units, settings.dim));
        }
        CheckParameters(ParameterShapesOf(settings), checkpoint.parameters,
                        path);
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
  config.options["chunk_width"] = settings_.chunk_width;
  config.options["num_contexts"] = settings_.num_contexts;
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

SequenceInputs<float> TrainedDecoder::Inputs(Index entries) const {
  SequenceInputs<float> inputs{.parameters = &arrays_};
  if (settings_.is_monotonic() && settings_.is_normalized()) {
    inputs.energy_bias = arrays_.Scalar("attention.r");
  }
  inputs.expected_length = entries;
  return inputs;
}

TrainedDecoder::State TrainedDecoder::FirstState(const Source& source) const {
  const std::size_t d = Size(settings_.dim);
  State state{Array<float>(d), Array<float>(d), Array<float>(d)};
  if (settings_.starts_from_encoder) {
    state.output = source.LastOutput();
    state.cell = source.LastCell();
  }
  return state;
}

void TrainedDecoder::StepState(Symbol last, State& state) {
  const std::span<const float> embedded =
      arrays_
          .Matrix("target_embedding", settings_.vocabulary(),
                  settings_.embedding)
          .Row(last);
  const Array<float> joined =
      settings_.input_feeding ? Joined({embedded, state.context, state.output})
                              : Joined({embedded, state.output});
  decoder_.Step({joined.data(), 1, std::ssize(joined)}, RowOf(state.cell),
                RowOf(state.output));
}

Array<float> TrainedDecoder::Logits(const State& state) const {
  Array<float> features = state.output;
  if (mechanism_ != nullptr) {
    Linear("mix", Joined({state.output, state.context}), features);
    for (float& x : features) x = std::tanh(x);
  }
  Array<float> logits(Size(settings_.vocabulary()));
  Linear("output", features, logits);
  return logits;
}

std::vector<DecodedOutput> TrainedDecoder::Decode(const Example& example,
                                                  Index most) {
  Source source(*this, example);
  std::unique_ptr<Decoder<float>> attention;
  if (mechanism_ != nullptr) {
    attention = mechanism_->MakeDecoder(MechanismConfig(),
                                        Inputs(example.source_length()));
  }
  if (!is_online()) {
    source.ReadAll();
    if (attention) {
      attention->Append(source.memory());
      attention->Close();
    }
  }
  bool is_closed = !is_online();
  State state = FirstState(source);
  std::vector<DecodedOutput> outputs;
  Symbol last = kStartSymbol;
  while (last != kEndSymbol && std::ssize(outputs) < most) {
    StepState(last, state);
    DecodedOutput made;
    if (attention) {
      const StepResult<float> step = StepOnDemand<float>(
          *attention, state.output, state.context, is_closed,
          [&]() -> std::optional<MatrixView<const float>> {
            if (source.IsRead()) return std::nullopt;
            return source.ReadNext();
          });
      made.position = step.position;
    }
    Array<float> logits = Logits(state);
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

NamedTables TrainedDecoder::Scores(const Example& example) {
  ATTN_CHECK(settings_.is_monotonic());
  Source source(*this, example);
  source.ReadAll();
  const Index U = std::ssize(example.target), T = source.memory().rows;
  const Config config = MechanismConfig();
  const SequenceInputs<float> inputs = Inputs(T);
  NamedTables tables;
  std::vector<std::pair<std::unique_ptr<Energy<float>>, Table<float>*>> scores;
  const auto add = [&](const InputSpec& score, EnergyRole role) {
    tables[score.name] = Table<float>(U, T);
    scores.emplace_back(MakeEnergy(config, inputs, role, EnergyUse::kMany),
                        &tables[score.name]);
    scores.back().first->Append(source.memory());
  };
  add(kEnergiesInput, EnergyRole::kAttention);
  if (settings_.has_chunks()) add(kChunkEnergiesInput, EnergyRole::kChunk);
  State state = FirstState(source);
  for (Index i = 0; i < U; ++i) {
    StepState(i == 0 ? kStartSymbol : example.target[Size(i - 1)], state);
    for (const auto& [energy, table] : scores) {
      energy->SetState(i, state.output);
      energy->Evaluate(0, T, table->view().Row(i).data());
    }
    if (settings_.input_feeding) {
      state.context = LastExpectedContext(tables, i + 1, source.memory());
    }
  }
  return tables;
}

TrainedDecoder::Forced::Forced(TrainedDecoder& owner, const Example& example)
    : owner_(owner),
      example_(example),
      config_(owner.MechanismConfig()),
      inputs_(owner.Inputs(example.source_length())),
      source_(std::make_unique<Source>(owner, example)),
      energy_(MakeEnergy(config_, inputs_, EnergyRole::kAttention,
                         EnergyUse::kMany)) {
  ATTN_CHECK(owner.settings_.is_monotonic());
  source_->ReadAll();
  energy_->Append(source_->memory());
}

TrainedDecoder::Forced::~Forced() = default;

MatrixView<const float> TrainedDecoder::Forced::memory() const {
  return source_->memory();
}

TrainedDecoder::State TrainedDecoder::Forced::FirstState() const {
  return owner_.FirstState(*source_);
}

void TrainedDecoder::Forced::Advance(Index i, State& state) const {
  owner_.StepState(i == 0 ? kStartSymbol : example_.target[Size(i - 1)], state);
}

void TrainedDecoder::Forced::Energies(const State& state,
                                      std::span<float> energies) const {
  energy_->SetState(0, state.output);
  energy_->Evaluate(0, std::ssize(energies), energies.data());
}

Array<float> TrainedDecoder::Forced::Logits(const State& state) const {
  return owner_.Logits(state);
}

Array<float> TrainedDecoder::LastExpectedContext(
    const NamedTables& tables, Index outputs,
    const MatrixView<const float>& memory) const {
  Sequence<float> sequence;
  for (const auto& [name, table] : tables) {
    sequence.inputs.scores.Set(name,
                               {table.values.data(), outputs, table.cols});
  }
  Table<float> contexts(outputs, memory.cols);
  sequence.memory = memory;
  sequence.contexts = contexts.view();
  Config config = MechanismConfig();
  config.mode = Mode::kExpect;
  mechanism_->Expect(config, sequence, {});
  const std::span<float> last = contexts.view().Row(outputs - 1);
  return {last.begin(), last.end()};
}

}  // namespace attnbench
