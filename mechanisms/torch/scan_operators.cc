// The operators of the mechanisms whose attention follows from tables of
// scores: monotonic, mocha, matcha, and others by name.
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include "mechanisms/common/parallel.h"
#include "mechanisms/description.h"
#include "mechanisms/energy/energy.h"
#include "mechanisms/registry.h"
#include "mechanisms/torch/arguments.h"
#include "mechanisms/torch/operators.h"

namespace attnbench::torch_operators {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What is not a tensor.
struct Options {
  const char* mechanism;
  ScoreKind kind;
  Index width;
  EndPolicy end;

  const char* scores_name() const {
    return kind == ScoreKind::kProbabilities ? "p" : "energies";
  }
};

// What a call reads. Tensors that are not given are undefined.
struct Inputs {
  Tensor scores;
  Tensor chunk_energies;
  Tensor start;
  Tensor lengths;

  Index heads() const { return scores.size(1); }
  Index count() const { return scores.size(0) * heads(); }
  Index num_outputs() const { return scores.size(2); }
  Index num_entries() const { return scores.size(3); }
};

// Everything at sequence n of a call.
template <class Real>
class Call {
 public:
  Call(const Inputs& inputs, const Options& options)
      : inputs_(inputs),
        options_(options),
        lengths_(inputs.lengths, inputs.heads(), inputs.num_entries()),
        mechanism_(*FindMechanism<Real>(options.mechanism)),
        config_(DefaultConfig(mechanism_.Describe())) {
    config_.chunk_width = options.width;
    config_.end = options.end;
  }

  template <class Body>
  void ForEachSequence(const Body& body) const {
    ParallelFor(inputs_.count(), at::get_num_threads(),
                [&](Index n) { body(n, lengths_(n)); });
  }
  // A mechanism is not asked about sequences of which only zeros can be made.
  bool IsEmpty(Index length) const {
    return length == 0 || inputs_.num_outputs() == 0;
  }

  // A table [U, length] of sequence n; without data if it is not there.
  MatrixView<Real> Table(const Tensor& table, Index n, Index length) const {
    if (!table.defined()) return {};
    return SequenceOf<Real>(table, n, inputs_.num_outputs(), length);
  }
  // The same of a table that is to be written: beyond the length it gets zeros.
  MatrixView<Real> Output(const Tensor& table, Index n, Index length) const {
    if (!table.defined()) return {};
    ZeroFrom(length, Table(table, n, inputs_.num_entries()));
    return Table(table, n, length);
  }
  std::span<Real> Row(const Tensor& rows, Index n, Index length) const {
    if (!rows.defined()) return {};
    return {rows.data_ptr<Real>() + n * inputs_.num_entries(), Size(length)};
  }

  // All of a row, as a table.
  MatrixView<Real> RowTable(const Tensor& rows, Index n) const {
    const std::span<Real> row = Row(rows, n, inputs_.num_entries());
    return {row.data(), row.empty() ? 0 : 1, std::ssize(row)};
  }

  Sequence<Real> SequenceAt(Index n, Index length) const {
    Sequence<Real> sequence;
    sequence.inputs.scores.Set(ScoreName(), Table(inputs_.scores, n, length));
    sequence.inputs.scores.Set(kChunkEnergiesInput.name,
                               Table(inputs_.chunk_energies, n, length));
    sequence.inputs.start = Row(inputs_.start, n, length);
    return sequence;
  }

  // Whether all numbers of sequence n can be computed with.
  bool Check(Index n, Index length, WrongNumbers& wrong) const {
    const Numbers of_scores = options_.kind == ScoreKind::kProbabilities
                                  ? Numbers::kProbabilities
                                  : Numbers::kAny;
    return wrong.Allows<Real>(n, options_.scores_name(), of_scores,
                              Table(inputs_.scores, n, length)) &&
           wrong.Allows<Real>(n, kChunkEnergiesInput.name.c_str(),
                              Numbers::kFinite,
                              Table(inputs_.chunk_energies, n, length)) &&
           wrong.AllowsRow<Real>(n, "start", Numbers::kNotNegative,
                                 Row(inputs_.start, n, length));
  }

  void Expect(const Tensor& attention, const Tensor& selection) const {
    WrongNumbers wrong(inputs_.count());
    ForEachSequence([&](Index n, Index length) {
      const Expectation<Real> out{.attention = Output(attention, n, length),
                                  .selection = Output(selection, n, length)};
      if (IsEmpty(length) || !Check(n, length, wrong)) return;
      mechanism_.Expect(config_, SequenceAt(n, length), out);
    });
    wrong.Throw(inputs_.heads());
  }

  // Gradients that are undefined are not wanted.
  void Gradient(const Tensor& d_attention, const Tensor& d_selection,
                const Inputs& gradients) const {
    ForEachSequence([&](Index n, Index length) {
      Gradients<Real> wanted;
      wanted.scores.Set(ScoreName(), Output(gradients.scores, n, length));
      wanted.scores.Set(kChunkEnergiesInput.name,
                        Output(gradients.chunk_energies, n, length));
      wanted.start = Row(gradients.start, n, length);
      // Without outputs nothing writes what is within the length.
      const Index written = IsEmpty(length) ? 0 : length;
      ZeroFrom(written, RowTable(gradients.start, n));
      if (IsEmpty(length)) return;
      mechanism_.Gradient(config_, SequenceAt(n, length),
                          {.attention = Table(d_attention, n, length),
                           .contexts = {},
                           .selection = Table(d_selection, n, length)},
                          {}, wanted);
    });
  }

 private:
  const std::string& ScoreName() const {
    return options_.kind == ScoreKind::kProbabilities ? kProbabilitiesInput.name
                                                      : kEnergiesInput.name;
  }

  const Inputs& inputs_;
  const Options& options_;
  const SequenceLengths lengths_;
  const Mechanism<Real>& mechanism_;
  Config config_;
};

// Memory for a result, all of which is going to be written.
Tensor MakeResult(const Tensor& like) {
  return at::empty_like(like, like.options(), at::MemoryFormat::Contiguous);
}

// The gradient as a function of its own, which has none.
class ScanGradient : public torch::autograd::Function<ScanGradient> {
 public:
  static variable_list forward(
      AutogradContext* /*context*/, const Tensor& scores,
      const OptionalTensor& chunk_energies, const OptionalTensor& start,
      const OptionalTensor& lengths, const OptionalTensor& d_attention,
      const OptionalTensor& d_selection, const Options& options) {
    const Inputs inputs{scores, chunk_energies.value_or(Tensor()),
                        start.value_or(Tensor()), lengths.value_or(Tensor())};
    Inputs gradients;
    variable_list made;
    const auto make_if_wanted = [&](const Tensor& of, Tensor& gradient) {
      if (!of.defined() || !of.requires_grad()) return;
      gradient = MakeResult(of);
      made.push_back(gradient);
    };
    make_if_wanted(inputs.scores, gradients.scores);
    make_if_wanted(inputs.chunk_energies, gradients.chunk_energies);
    make_if_wanted(inputs.start, gradients.start);
    AT_DISPATCH_FLOATING_TYPES(scores.scalar_type(), "attnbench", [&] {
      Call<scalar_t>(inputs, options)
          .Gradient(d_attention.value_or(Tensor()),
                    d_selection.value_or(Tensor()), gradients);
    });
    return made;
  }

  static constexpr auto backward = &RefuseSecondDerivative;
};

class Scan : public torch::autograd::Function<Scan> {
 public:
  // (attention), or (attention, alpha) where there are chunk energies.
  static variable_list forward(AutogradContext* context, const Tensor& scores,
                               const OptionalTensor& chunk_energies,
                               const OptionalTensor& start,
                               const OptionalTensor& lengths,
                               const Options& options) {
    const Inputs inputs{scores, chunk_energies.value_or(Tensor()),
                        start.value_or(Tensor()), lengths.value_or(Tensor())};
    context->save_for_backward(
        {inputs.scores, inputs.chunk_energies, inputs.start, inputs.lengths});
    context->saved_data["mechanism"] = std::string(options.mechanism);
    context->saved_data["kind"] = static_cast<std::int64_t>(options.kind);
    context->saved_data["width"] = options.width;
    context->saved_data["end"] = static_cast<std::int64_t>(options.end);
    context->set_materialize_grads(false);
    variable_list made = {MakeResult(scores)};
    if (inputs.chunk_energies.defined()) {
      made.push_back(MakeResult(scores));
    }
    AT_DISPATCH_FLOATING_TYPES(scores.scalar_type(), "attnbench", [&] {
      Call<scalar_t>(inputs, options)
          .Expect(made[0], made.size() > 1 ? made[1] : Tensor());
    });
    return made;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& cotangents) {
    variable_list gradients(kArguments);
    const auto given = [&](std::size_t n) -> OptionalTensor {
      if (n >= cotangents.size() || !cotangents[n].defined()) return {};
      return cotangents[n].resolve_neg().contiguous();
    };
    const OptionalTensor d_attention = given(0);
    const OptionalTensor d_selection = given(1);
    if (!d_attention.has_value() && !d_selection.has_value()) return gradients;
    const variable_list saved = context->get_saved_variables();
    const std::string mechanism =
        context->saved_data["mechanism"].toStringRef();
    const Options options{
        .mechanism = mechanism.c_str(),
        .kind = static_cast<ScoreKind>(context->saved_data["kind"].toInt()),
        .width = context->saved_data["width"].toInt(),
        .end = static_cast<EndPolicy>(context->saved_data["end"].toInt())};
    const variable_list made = ScanGradient::apply(
        saved[0], OptionalTensor(saved[1]), OptionalTensor(saved[2]),
        OptionalTensor(saved[3]), d_attention, d_selection, options);
    std::size_t next = 0;
    for (std::size_t n = 0; n < 3; ++n) {
      if (saved[n].defined() && saved[n].requires_grad()) {
        gradients[n] = made[next++];
      }
    }
    return gradients;
  }

 private:
  static constexpr std::size_t kArguments = 5;
};

// Checks what all have in common, and computes.
variable_list Run(const Tensor& scores, const OptionalTensor& chunk_energies,
                  const OptionalTensor& lengths, const OptionalTensor& start,
                  const Options& options) {
  const char* const name = options.scores_name();
  const Tensor table = TakeTable(scores, name, "[B, H, U, T]");
  const auto sizes = table.sizes();
  OptionalTensor chunk_table, start_row;
  if (chunk_energies.has_value()) {
    chunk_table = TakeTable(*chunk_energies, "chunk_energies", "[B, H, U, T]");
    CheckFits(*chunk_energies, "chunk_energies", sizes, scores, name);
  }
  if (start.has_value() && start->defined()) {
    start_row = TakeArray(*start, "start", "[B, H, T]", 3);
    CheckFits(*start, "start", {sizes[0], sizes[1], sizes[3]}, scores, name);
    TORCH_CHECK_VALUE(options.end != EndPolicy::kRestart,
                      "start cannot be given where end is restart: there "
                      "alpha does not say where the next output starts");
  }
  const Tensor taken = TakeLengths(lengths, sizes[0], sizes[3]);
  variable_list made = Scan::apply(table, chunk_table, start_row,
                                   OptionalTensor(taken), options);
  for (Tensor& one : made) one = one.to(scores.scalar_type());
  return made;
}

}  // namespace

at::Tensor MonotonicAttention(const at::Tensor& scores, ScoreKind kind,
                              const OptionalTensor& lengths,
                              const OptionalTensor& start, EndPolicy end) {
  return Run(scores, {}, lengths, start, {"monotonic", kind, 1, end})[0];
}

std::tuple<at::Tensor, at::Tensor> MochaAttention(
    const at::Tensor& scores, ScoreKind kind, const at::Tensor& chunk_energies,
    std::int64_t width, const OptionalTensor& lengths,
    const OptionalTensor& start, EndPolicy end) {
  TORCH_CHECK_VALUE(width >= 1 || width == kInfiniteLookback,
                    "width must be at least 1, or -1 for infinite lookback, "
                    "but is ",
                    width);
  const Index w = width == kInfiniteLookback ? kInfiniteWidth : width;
  const variable_list made =
      Run(scores, chunk_energies, lengths, start, {"mocha", kind, w, end});
  return {made[0], made[1]};
}

std::tuple<at::Tensor, at::Tensor> MatchaAttention(
    const at::Tensor& scores, ScoreKind kind, const at::Tensor& chunk_energies,
    const OptionalTensor& lengths, const OptionalTensor& start, EndPolicy end) {
  const variable_list made =
      Run(scores, chunk_energies, lengths, start, {"matcha", kind, 1, end});
  return {made[0], made[1]};
}

at::Tensor EnergyAttention(const std::string& mechanism,
                           const at::Tensor& energies,
                           const OptionalTensor& lengths) {
  TORCH_CHECK_VALUE(FindMechanism<float>(mechanism) != nullptr, "mechanism ",
                    mechanism, " is not known");
  const Config defaults;
  return Run(energies, {}, lengths, {},
             {mechanism.c_str(), ScoreKind::kEnergies, defaults.chunk_width,
              defaults.end})[0];
}

}  // namespace attnbench::torch_operators
