// The operators of the mechanisms whose attention follows from tables of
// scores: monotonic, mocha, matcha, and others by name.
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "mechanisms/common/parallel.h"
#include "mechanisms/description.h"
#include "mechanisms/energy/energy.h"
#include "mechanisms/registry.h"
#include "mechanisms/torch/arguments.h"
#include "mechanisms/torch/operators.h"
#include "mechanisms/torch/options.h"
#include "mechanisms/torch/pool.h"
#include "mechanisms/torch/registration.h"

namespace attnbench::torch_operators {
namespace {

using at::Tensor;
using OptionalRef = const OptionalTensor&;

// What is not a tensor.
struct Options {
  std::string mechanism;
  ScoreKind kind;
  Config config;
  bool gives_alpha;  // beside attention
  Numbers numbers;   // that scores can have

  const char* scores_name() const {
    return kind == ScoreKind::kProbabilities ? "p" : "energies";
  }
};

// What a call reads. Tensors that are not given are undefined.
struct Inputs {
  Tensor scores;
  Tensor chunk_energies;
  Tensor start;
  SequenceLengths lengths;

  Index heads() const { return scores.size(1); }
  Index count() const { return scores.size(0) * heads(); }
  Index num_outputs() const { return scores.size(2); }
  Index num_entries() const { return scores.size(3); }
};

// Views, checks and gradients of the sequences of a call, on its threads.
template <class Real>
class Call {
 public:
  Call(const Inputs& inputs, const Options& options)
      : inputs_(inputs),
        options_(options),
        mechanism_(*FindMechanism<Real>(options.mechanism)),
        threads_(at::get_num_threads()) {}

  // Calls body(n, length, trainer) with a trainer of each thread's own.
  template <class Body>
  void ForEachSequence(const Body& body) const {
    std::optional<LoopsWithinLoops> nested;
    if (ThreadsOfSequence() > 1) nested.emplace();
    ParallelForWith(
        inputs_.count(), threads_,
        [&] { return mechanism_.MakeTrainer(options_.config); },
        [&](Index n, const std::unique_ptr<SequenceTrainer<Real>>& trainer) {
          body(n, inputs_.lengths(n), *trainer);
        });
  }
  // Threads are divided among sequences; each has one at least.
  int ThreadsOfSequence() const {
    return static_cast<int>(
        std::max<Index>(1, threads_ / std::max<Index>(1, inputs_.count())));
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
    sequence.threads = ThreadsOfSequence();
    return sequence;
  }

  // Whether all numbers of sequence n can be computed with.
  bool Check(Index n, Index length, WrongNumbers& wrong) const {
    return wrong.Allows<Real>(n, options_.scores_name(), options_.numbers,
                              Table(inputs_.scores, n, length)) &&
           wrong.Allows<Real>(n, kChunkEnergiesInput.name.c_str(),
                              Numbers::kFinite,
                              Table(inputs_.chunk_energies, n, length)) &&
           wrong.AllowsRow<Real>(n, "start", Numbers::kNotNegative,
                                 Row(inputs_.start, n, length));
  }

  void Expect(const Tensor& attention, const Tensor& selection,
              const Tensor& arrived) const {
    WrongNumbers wrong(inputs_.count());
    ForEachSequence([&](Index n, Index length, SequenceTrainer<Real>& trainer) {
      const Expectation<Real> out{.attention = Output(attention, n, length),
                                  .selection = Output(selection, n, length),
                                  .arrived = Table(arrived, n, length)};
      if (IsEmpty(length) || !Check(n, length, wrong)) return;
      trainer.Expect(SequenceAt(n, length), out);
    });
    wrong.Throw(inputs_.heads());
  }

  // Gradients that are undefined are not wanted. `arrived` is what Expect left
  // there, or undefined.
  void Gradient(const Tensor& d_attention, const Tensor& d_selection,
                const Tensor& arrived, const Inputs& gradients) const {
    ForEachSequence([&](Index n, Index length, SequenceTrainer<Real>& trainer) {
      Gradients<Real> wanted;
      wanted.scores.Set(ScoreName(), Output(gradients.scores, n, length));
      wanted.scores.Set(kChunkEnergiesInput.name,
                        Output(gradients.chunk_energies, n, length));
      wanted.start = Row(gradients.start, n, length);
      // Without outputs nothing writes what is within the length.
      const Index written = IsEmpty(length) ? 0 : length;
      ZeroFrom(written, RowTable(gradients.start, n));
      if (IsEmpty(length)) return;
      trainer.Gradient(SequenceAt(n, length),
                       {.attention = Table(d_attention, n, length),
                        .contexts = {},
                        .selection = Table(d_selection, n, length)},
                       {.arrived = Table(arrived, n, length)}, wanted);
    });
  }

 private:
  const std::string& ScoreName() const {
    return options_.kind == ScoreKind::kProbabilities ? kProbabilitiesInput.name
                                                      : kEnergiesInput.name;
  }

  const Inputs& inputs_;
  const Options& options_;
  const Mechanism<Real>& mechanism_;
  const int threads_;
};

// Gives the arguments in a form that can be computed with, or throws.
Inputs ValidInputs(const Tensor& scores, const OptionalTensor& chunk_energies,
                   const OptionalTensor& lengths, const OptionalTensor& start,
                   const Options& options) {
  const char* const name = options.scores_name();
  Inputs inputs;
  inputs.scores = ValidTable(scores, name, "[B, H, U, T]");
  const auto sizes = inputs.scores.sizes();
  if (chunk_energies.has_value() && chunk_energies->defined()) {
    inputs.chunk_energies =
        ValidTable(*chunk_energies, "chunk_energies", "[B, H, U, T]");
    CheckFits(*chunk_energies, "chunk_energies", sizes, scores, name);
  }
  if (start.has_value() && start->defined()) {
    inputs.start = ValidArray(*start, "start", "[B, H, T]", 3);
    CheckFits(*start, "start", {sizes[0], sizes[1], sizes[3]}, scores, name);
    TORCH_CHECK_VALUE(options.config.end != EndPolicy::kRestart,
                      "start cannot be given where end is restart: there "
                      "alpha does not say where the next output starts");
  }
  inputs.lengths = SequenceLengths(lengths, inputs.scores, sizes[3]);
  return inputs;
}

// What a call makes. Alpha is undefined if it is not given beside attention,
// and so is `arrived`, which spares the gradient a scan of its own, where
// nobody asked for it or the pool does not keep it.
struct Results {
  Tensor attention, selection, arrived;
};

Results Compute(const Tensor& scores, const OptionalTensor& chunk_energies,
                const OptionalTensor& lengths, const OptionalTensor& start,
                const Options& options, bool for_gradient) {
  const Inputs inputs =
      ValidInputs(scores, chunk_energies, lengths, start, options);
  Results made;
  made.attention = MakeResultLike(inputs.scores);
  if (options.gives_alpha) made.selection = MakeResultLike(inputs.scores);
  if (for_gradient && options.config.end != EndPolicy::kRestart &&
      IsKept(inputs.scores)) {
    made.arrived = MakeResultLike(inputs.scores);
  }
  if (!scores.is_meta()) {
    AT_DISPATCH_FLOATING_TYPES(inputs.scores.scalar_type(), "attnbench", [&] {
      Call<scalar_t>(inputs, options)
          .Expect(made.attention, made.selection, made.arrived);
    });
  }
  made.attention = InTypeOf(scores, made.attention);
  made.selection = InTypeOf(scores, made.selection);
  return made;
}

// The gradients with respect to results, and Results::arrived; all may be
// absent.
struct Cotangents {
  OptionalRef attention;
  OptionalRef selection;
  OptionalRef arrived;
};

// Of scores, chunk energies and start, those that are wanted.
std::array<Tensor, 3> ComputeGradient(const Cotangents& cotangents,
                                      std::array<bool, 3> wanted,
                                      const Tensor& scores,
                                      const OptionalTensor& chunk_energies,
                                      const OptionalTensor& lengths,
                                      const OptionalTensor& start,
                                      const Options& options) {
  const Inputs inputs =
      ValidInputs(scores, chunk_energies, lengths, start, options);
  const auto take = [&](const OptionalTensor& given, const char* name) {
    return ValidCotangent(given, name, inputs.scores.sizes(), scores,
                          options.scores_name());
  };
  const Tensor d_attention = take(cotangents.attention, "d_attention");
  const Tensor d_selection = take(cotangents.selection, "d_alpha");
  Tensor arrived = cotangents.arrived.value_or(Tensor());
  if (arrived.defined()) {
    arrived = ValidArray(arrived, "arrived", "[B, H, U, T]", 4);
    CheckFits(arrived, "arrived", inputs.scores.sizes(), inputs.scores,
              "the scores in their computed type");
  }
  Inputs gradients;
  gradients.lengths = inputs.lengths;
  const auto make = [](bool is_wanted, const Tensor& of) {
    return is_wanted && of.defined() ? MakeResultLike(of) : Tensor();
  };
  gradients.scores = make(wanted[0], inputs.scores);
  gradients.chunk_energies = make(wanted[1], inputs.chunk_energies);
  gradients.start = make(wanted[2], inputs.start);
  if (!scores.is_meta()) {
    AT_DISPATCH_FLOATING_TYPES(inputs.scores.scalar_type(), "attnbench", [&] {
      Call<scalar_t>(inputs, options)
          .Gradient(d_attention, d_selection, arrived, gradients);
    });
  }
  return {InTypeOf(scores, gradients.scores),
          InTypeOf(scores, gradients.chunk_energies),
          InTypeOf(scores, gradients.start)};
}

Options ScanOptions(const std::string& mechanism, bool probabilities,
                    std::int64_t width, c10::string_view end) {
  Options options = {
      .mechanism = mechanism,
      .kind = probabilities ? ScoreKind::kProbabilities : ScoreKind::kEnergies,
      .config = DefaultConfig(FindMechanism<float>(mechanism)->Describe()),
      .gives_alpha = mechanism != "monotonic",
      .numbers = probabilities ? Numbers::kProbabilities : Numbers::kAny};
  options.config.options["chunk_width"] = width;
  options.config.end = EndOf(end);
  return options;
}

Options MonotonicOptions(bool probabilities, c10::string_view end) {
  return ScanOptions("monotonic", probabilities, 1, end);
}

Options MochaOptions(bool probabilities, std::int64_t width,
                     c10::string_view end) {
  TORCH_CHECK_VALUE(width >= 1 || width == kInfiniteLookback,
                    "width must be at least 1, or -1 for infinite lookback, "
                    "but is ",
                    width);
  return ScanOptions("mocha", probabilities,
                     width == kInfiniteLookback ? kInfiniteWidth : width, end);
}

Options MatchaOptions(bool probabilities, c10::string_view end) {
  return ScanOptions("matcha", probabilities, 1, end);
}

Options EnergyOptions(c10::string_view mechanism,
                      const OptionalTensor& chunk_energies,
                      c10::string_view texts) {
  const std::string name(mechanism);
  const Description& about = DescribeEnergyMechanism(name);
  const bool given = chunk_energies.has_value() && chunk_energies->defined();
  const bool taken = FindScore(about, kChunkEnergiesInput.name) != nullptr;
  TORCH_CHECK_VALUE(
      given == taken, "chunk_energies ",
      taken ? "is missing: mechanism " : "must not be given: mechanism ",
      about.name, taken ? " takes them" : " takes none");
  return {.mechanism = about.name,
          .kind = ScoreKind::kEnergies,
          .config = ConfigOf(about, texts),
          .gives_alpha = false,
          .numbers = Numbers::kFinite};
}

// Calls `compute`. What the mechanism cannot do with these options is an error
// of the caller.
template <class Compute>
auto WithMechanism(const Options& options, const Compute& compute) {
  try {
    return compute(options);
  } catch (const Unsupported& error) {
    TORCH_CHECK_VALUE(false, "mechanism ", options.mechanism, " ",
                      std::string(error.what()).substr(0, 200));
  }
}

// The kernels, by the schemas below.

std::tuple<Tensor, Tensor> MonotonicWithArrived(const Tensor& scores,
                                                bool probabilities,
                                                OptionalRef lengths,
                                                OptionalRef start,
                                                c10::string_view end) {
  const Results made = Compute(scores, {}, lengths, start,
                               MonotonicOptions(probabilities, end), true);
  return {made.attention, made.arrived};
}

Tensor Monotonic(const Tensor& scores, bool probabilities, OptionalRef lengths,
                 OptionalRef start, c10::string_view end) {
  return Compute(scores, {}, lengths, start,
                 MonotonicOptions(probabilities, end), false)
      .attention;
}

std::tuple<Tensor, Tensor> MonotonicGradient(
    OptionalRef d_attention, std::array<bool, 2> output_mask,
    const Tensor& scores, bool probabilities, OptionalRef lengths,
    OptionalRef start, c10::string_view end, OptionalRef arrived) {
  auto [d_scores, none, d_start] = ComputeGradient(
      {d_attention, {}, arrived}, {output_mask[0], false, output_mask[1]},
      scores, {}, lengths, start, MonotonicOptions(probabilities, end));
  return {d_scores, d_start};
}

std::tuple<Tensor, Tensor, Tensor> MochaWithArrived(
    const Tensor& scores, bool probabilities, const Tensor& chunk_energies,
    std::int64_t width, OptionalRef lengths, OptionalRef start,
    c10::string_view end) {
  const Results made = Compute(scores, chunk_energies, lengths, start,
                               MochaOptions(probabilities, width, end), true);
  return {made.attention, made.selection, made.arrived};
}

std::tuple<Tensor, Tensor> Mocha(const Tensor& scores, bool probabilities,
                                 const Tensor& chunk_energies,
                                 std::int64_t width, OptionalRef lengths,
                                 OptionalRef start, c10::string_view end) {
  const Results made = Compute(scores, chunk_energies, lengths, start,
                               MochaOptions(probabilities, width, end), false);
  return {made.attention, made.selection};
}

std::tuple<Tensor, Tensor, Tensor> MochaGradient(
    OptionalRef d_attention, OptionalRef d_alpha,
    std::array<bool, 3> output_mask, const Tensor& scores, bool probabilities,
    const Tensor& chunk_energies, std::int64_t width, OptionalRef lengths,
    OptionalRef start, c10::string_view end, OptionalRef arrived) {
  return std::tuple_cat(ComputeGradient(
      {d_attention, d_alpha, arrived}, output_mask, scores, chunk_energies,
      lengths, start, MochaOptions(probabilities, width, end)));
}

std::tuple<Tensor, Tensor, Tensor> MatchaWithArrived(
    const Tensor& scores, bool probabilities, const Tensor& chunk_energies,
    OptionalRef lengths, OptionalRef start, c10::string_view end) {
  const Results made = Compute(scores, chunk_energies, lengths, start,
                               MatchaOptions(probabilities, end), true);
  return {made.attention, made.selection, made.arrived};
}

std::tuple<Tensor, Tensor> Matcha(const Tensor& scores, bool probabilities,
                                  const Tensor& chunk_energies,
                                  OptionalRef lengths, OptionalRef start,
                                  c10::string_view end) {
  const Results made = Compute(scores, chunk_energies, lengths, start,
                               MatchaOptions(probabilities, end), false);
  return {made.attention, made.selection};
}

std::tuple<Tensor, Tensor, Tensor> MatchaGradient(
    OptionalRef d_attention, OptionalRef d_alpha,
    std::array<bool, 3> output_mask, const Tensor& scores, bool probabilities,
    const Tensor& chunk_energies, OptionalRef lengths, OptionalRef start,
    c10::string_view end, OptionalRef arrived) {
  return std::tuple_cat(ComputeGradient(
      {d_attention, d_alpha, arrived}, output_mask, scores, chunk_energies,
      lengths, start, MatchaOptions(probabilities, end)));
}

Tensor Energy(c10::string_view mechanism, const Tensor& energies,
              OptionalRef chunk_energies, OptionalRef lengths,
              c10::string_view options) {
  return WithMechanism(EnergyOptions(mechanism, chunk_energies, options),
                       [&](const Options& made) {
                         return Compute(energies, chunk_energies, lengths, {},
                                        made, false)
                             .attention;
                       });
}

std::tuple<Tensor, Tensor> EnergyGradient(
    OptionalRef d_attention, std::array<bool, 2> output_mask,
    c10::string_view mechanism, const Tensor& energies,
    OptionalRef chunk_energies, OptionalRef lengths, c10::string_view options) {
  return WithMechanism(
      EnergyOptions(mechanism, chunk_energies, options),
      [&](const Options& made) -> std::tuple<Tensor, Tensor> {
        auto [d_energies, d_chunk_energies, none] = ComputeGradient(
            {d_attention, {}, {}}, {output_mask[0], output_mask[1], false},
            energies, chunk_energies, lengths, {}, made);
        return {d_energies, d_chunk_energies};
      });
}

TORCH_LIBRARY_FRAGMENT(attnbench, library) {
  Define(
      library,
      {.name = "monotonic_attention",
       .arguments = "Tensor scores, bool probabilities, Tensor? lengths=None,"
                    " Tensor? start=None, str end=\"absorb\"",
       .results = "Tensor",
       .cotangents = "Tensor? d_attention, bool[2] output_mask",
       .gradients = "(Tensor scores, Tensor start)"},
      &Monotonic, &MonotonicGradient, &MonotonicWithArrived);
  Define(library,
         {.name = "mocha_attention",
          .arguments = "Tensor scores, bool probabilities, Tensor"
                       " chunk_energies, int width, Tensor? lengths=None,"
                       " Tensor? start=None, str end=\"absorb\"",
          .results = "(Tensor attention, Tensor alpha)",
          .cotangents =
              "Tensor? d_attention, Tensor? d_alpha, bool[3] output_mask",
          .gradients = "(Tensor scores, Tensor chunk_energies, Tensor start)"},
         &Mocha, &MochaGradient, &MochaWithArrived);
  Define(library,
         {.name = "matcha_attention",
          .arguments = "Tensor scores, bool probabilities, Tensor"
                       " chunk_energies, Tensor? lengths=None,"
                       " Tensor? start=None, str end=\"absorb\"",
          .results = "(Tensor attention, Tensor alpha)",
          .cotangents =
              "Tensor? d_attention, Tensor? d_alpha, bool[3] output_mask",
          .gradients = "(Tensor scores, Tensor chunk_energies, Tensor start)"},
         &Matcha, &MatchaGradient, &MatchaWithArrived);
  Define(library,
         {.name = "energy_attention",
          .arguments = "str mechanism, Tensor energies, Tensor?"
                       " chunk_energies=None, Tensor? lengths=None,"
                       " str options=\"\"",
          .results = "Tensor",
          .cotangents = "Tensor? d_attention, bool[2] output_mask",
          .gradients = "(Tensor energies, Tensor chunk_energies)"},
         &Energy, &EnergyGradient);
}

}  // namespace

at::Tensor MonotonicAttention(const at::Tensor& scores, ScoreKind kind,
                              const OptionalTensor& lengths,
                              const OptionalTensor& start, EndPolicy end) {
  static const auto operation =
      Operator<decltype(Monotonic)>("monotonic_attention");
  return operation.call(scores, kind == ScoreKind::kProbabilities, lengths,
                        start, TextOf(end));
}

std::tuple<at::Tensor, at::Tensor> MochaAttention(
    const at::Tensor& scores, ScoreKind kind, const at::Tensor& chunk_energies,
    std::int64_t width, const OptionalTensor& lengths,
    const OptionalTensor& start, EndPolicy end) {
  static const auto operation = Operator<decltype(Mocha)>("mocha_attention");
  return operation.call(scores, kind == ScoreKind::kProbabilities,
                        chunk_energies, width, lengths, start, TextOf(end));
}

std::tuple<at::Tensor, at::Tensor> MatchaAttention(
    const at::Tensor& scores, ScoreKind kind, const at::Tensor& chunk_energies,
    const OptionalTensor& lengths, const OptionalTensor& start, EndPolicy end) {
  static const auto operation = Operator<decltype(Matcha)>("matcha_attention");
  return operation.call(scores, kind == ScoreKind::kProbabilities,
                        chunk_energies, lengths, start, TextOf(end));
}

at::Tensor EnergyAttention(const std::string& mechanism,
                           const at::Tensor& energies,
                           const OptionalTensor& chunk_energies,
                           const OptionalTensor& lengths,
                           const std::string& options) {
  static const auto operation = Operator<decltype(Energy)>("energy_attention");
  return operation.call(mechanism, energies, chunk_energies, lengths, options);
}

}  // namespace attnbench::torch_operators
