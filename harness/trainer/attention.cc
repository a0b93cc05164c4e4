#include "harness/trainer/attention.h"

#include <torch/types.h>

#include <tuple>
#include <utility>

#include "mechanisms/torch/operators.h"

namespace attnbench {
namespace {

using at::Tensor;
using torch_operators::OptionalTensor;
using torch_operators::ScoreKind;

OptionalTensor Optional(const Tensor& tensor) {
  return tensor.defined() ? OptionalTensor(tensor) : OptionalTensor();
}

torch_operators::MemoryOptions MemoryOptionsOf(
    const TrainingSettings& settings) {
  return {.encoder_scoring = settings.encoder_scoring,
          .decoder_scoring = settings.decoder_scoring,
          .position_encoding = settings.position_encoding,
          .place = settings.place,
          .max_length = settings.longest_source()};
}

// [B, 1, 1, T]: whether an entry is there.
Tensor IsEntry(const Tensor& lengths, std::int64_t T) {
  return at::arange(T, lengths.options()).view({1, 1, 1, T}) <
         lengths.view({-1, 1, 1, 1});
}

// Times what lies between `inputs` and what is made of them. A hook runs when a
// tensor's gradient is whole, just before what made the tensor runs backwards.
// Autograd runs what is ready in the inverse order of making it, so all that is
// made in here runs between the hooks of outputs and inputs.
class Timed {
 public:
  Timed(std::shared_ptr<Stopwatch> stopwatch, const Tensor& inputs)
      : stopwatch_(std::move(stopwatch)) {
    Hook(inputs, &Stopwatch::Stop);
    stopwatch_->Start();
  }
  ~Timed() { stopwatch_->Stop(); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

  void Makes(const Tensor& output) const { Hook(output, &Stopwatch::Start); }

 private:
  void Hook(const Tensor& tensor, void (Stopwatch::*call)()) const {
    if (!tensor.defined() || !tensor.requires_grad()) return;
    tensor.register_hook([stopwatch = stopwatch_, call](const Tensor&) {
      ((*stopwatch).*call)();
    });
  }

  const std::shared_ptr<Stopwatch> stopwatch_;
};

}  // namespace

Tensor ClippedSelection(const Tensor& p, const Tensor& start) {
  const std::int64_t T = p.size(3);
  Tensor last = start;
  if (!last.defined()) {
    last = at::zeros({p.size(0), p.size(1), T}, p.options());
    last.select(2, 0).fill_(1);
  }
  std::vector<Tensor> rows;
  for (std::int64_t i = 0; i < p.size(2); ++i) {
    const Tensor p_i = p.select(2, i);
    const Tensor skipped = at::cat({at::ones_like(p_i.narrow(2, 0, 1)),
                                    (1 - p_i.narrow(2, 0, T - 1)).cumprod(2)},
                                   2);
    last = p_i * skipped * (last / skipped.clamp_min(1e-10)).cumsum(2);
    rows.push_back(last);
  }
  return at::stack(rows, 2);
}

Tensor AttentionModel::Keys(const std::string& name,
                            const Tensor& entries) const {
  return at::linear(entries, parameters_[name + ".V"], parameters_[name + ".b"])
      .unsqueeze(1);
}

// g v/|v| . tanh(W s + V h + b), MAD eq 16 without r.
Tensor AttentionModel::Energies(const std::string& name, const Tensor& states,
                                const Tensor& keys) const {
  const Tensor queries =
      at::linear(states, parameters_[name + ".W"]).unsqueeze(1);
  const Tensor& v = parameters_[name + ".v"];
  return torch_operators::AdditiveEnergies(
      queries, keys, parameters_[name + ".g"] * v / v.norm());
}

AttendedMemory AttentionModel::Prepare(const Tensor& entries,
                                       const Tensor& lengths) const {
  const Timed timed(stopwatch_, entries);
  AttendedMemory memory = MakeMemory(entries, lengths);
  timed.Makes(memory.keys);
  timed.Makes(memory.chunk_keys);
  timed.Makes(memory.scores);
  return memory;
}

Attended AttentionModel::Attend(const AttendedMemory& memory,
                                const AttentionRequest& request) const {
  const Timed timed(stopwatch_, request.states);
  Attended made = MakeAttention(memory, request);
  timed.Makes(made.contexts);
  return made;
}

AttendedMemory AttentionModel::MakeMemory(const Tensor& entries,
                                          const Tensor& lengths) const {
  AttendedMemory memory{.entries = entries, .lengths = lengths};
  if (settings_.mechanism == "memory") {
    memory.scores =
        at::linear(entries, parameters_["memory.encoder"]).unsqueeze(1);
  } else if (settings_.mechanism != "none") {
    memory.keys = Keys("attention", entries);
  }
  if (settings_.has_chunks()) memory.chunk_keys = Keys("chunk", entries);
  return memory;
}

Attended AttentionModel::MakeAttention(const AttendedMemory& memory,
                                       const AttentionRequest& request) const {
  if (settings_.mechanism == "none") return {};
  if (settings_.is_monotonic()) return AttendMonotonic(memory, request);
  if (settings_.mechanism == "memory") return AttendMemory(memory, request);
  return AttendByEnergies(memory, request);
}

Attended AttentionModel::AttendMemory(const AttendedMemory& memory,
                                      const AttentionRequest& request) const {
  const Tensor scores =
      at::linear(request.states, parameters_["memory.decoder"]).unsqueeze(1);
  const torch_operators::MemoryOptions options = MemoryOptionsOf(settings_);
  Attended made;
  made.contexts = torch_operators::MemoryContexts(memory.scores, scores,
                                                  memory.entries.unsqueeze(1),
                                                  options, memory.lengths)
                      .squeeze(1);
  if (request.wants_attention) {
    made.attention = torch_operators::MemoryAttention(memory.scores, scores,
                                                      options, memory.lengths);
  }
  return made;
}

Tensor AttentionModel::ContextWeights(const AttendedMemory& memory) const {
  // They are the attention of an output that takes one context and no other.
  constexpr double kSure = 1e4;
  const std::int64_t B = memory.scores.size(0), K = memory.scores.size(3);
  const Tensor one_each = at::eye(K, memory.scores.options()).mul(kSure);
  torch_operators::MemoryOptions options = MemoryOptionsOf(settings_);
  options.decoder_scoring = "softmax";
  return torch_operators::MemoryAttention(
      memory.scores, one_each.expand({B, 1, K, K}), options, memory.lengths);
}

// An output may depend on the energies of those before it.
Attended AttentionModel::AttendByEnergies(
    const AttendedMemory& memory, const AttentionRequest& request) const {
  const Tensor energies = Energies("attention", request.states, memory.keys);
  const Tensor& earlier = request.last.energies;
  const Tensor all =
      earlier.defined() ? at::cat({earlier, energies}, 2) : energies;
  const std::int64_t U = energies.size(2);
  const Tensor attention = torch_operators::EnergyAttention(
                               settings_.mechanism, all, {}, memory.lengths)
                               .narrow(2, all.size(2) - U, U);
  return {.contexts = at::bmm(attention.squeeze(1), memory.entries),
          .attention = attention,
          .next = {.energies = all}};
}

Attended AttentionModel::AttendMonotonic(
    const AttendedMemory& memory, const AttentionRequest& request) const {
  Attended made;
  made.energies = Energies("attention", request.states, memory.keys) +
                  parameters_["attention.r"];
  if (request.noise.defined()) made.energies = made.energies + request.noise;
  // Choosing by the threshold is the expectation of p in {0, 1}.
  const ScoreKind kind =
      request.is_hard ? ScoreKind::kProbabilities : ScoreKind::kEnergies;
  const Tensor scores = request.is_hard
                            ? (made.energies >= 0).to(made.energies.dtype())
                            : made.energies;
  const OptionalTensor lengths = memory.lengths;
  const OptionalTensor start = Optional(request.last.start);
  Tensor attention;
  if (settings_.has_chunks()) {
    const Tensor chunk_energies =
        Energies("chunk", request.states, memory.chunk_keys);
    std::tie(attention, made.selection) =
        settings_.mechanism == "mocha"
            ? torch_operators::MochaAttention(scores, kind, chunk_energies,
                                              settings_.chunk_width, lengths,
                                              start)
            : torch_operators::MatchaAttention(scores, kind, chunk_energies,
                                               lengths, start);
  } else if (settings_.alpha == "clipped" && !request.is_hard) {
    attention = made.selection = ClippedSelection(
        scores.sigmoid() * IsEntry(memory.lengths, scores.size(3)),
        request.last.start);
  } else {
    attention = made.selection =
        torch_operators::MonotonicAttention(scores, kind, lengths, start);
  }
  made.contexts = at::bmm(attention.squeeze(1), memory.entries);
  made.attention = attention;
  made.next.start = made.selection.select(2, made.selection.size(2) - 1);
  return made;
}

}  // namespace attnbench
