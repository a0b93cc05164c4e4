// The operators of fixed-size memory attention.
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <array>
#include <string>
#include <tuple>

#include "mechanisms/common/parallel.h"
#include "mechanisms/description.h"
#include "mechanisms/memory/memory.h"
#include "mechanisms/registry.h"
#include "mechanisms/torch/arguments.h"
#include "mechanisms/torch/operators.h"
#include "mechanisms/torch/pool.h"
#include "mechanisms/torch/registration.h"

namespace attnbench::torch_operators {
namespace {

using at::Tensor;
using OptionalRef = const OptionalTensor&;

// What a call reads: encoder_scores [B, H, T, K], decoder_scores [B, H, U, K],
// and, where contexts are made and not attention, memory [B, H, T, d].
struct Inputs {
  Tensor encoder;
  Tensor decoder;
  Tensor memory;
  SequenceLengths lengths;

  Index heads() const { return encoder.size(1); }
  Index count() const { return encoder.size(0) * heads(); }
  Index num_outputs() const { return decoder.size(2); }
  Index num_entries() const { return encoder.size(2); }
  Index num_contexts() const { return encoder.size(3); }
  // The columns of what is made.
  Index columns() const {
    return memory.defined() ? memory.size(3) : num_entries();
  }
};

template <class Real>
class Call {
 public:
  Call(const Inputs& inputs, const MemoryOptions& options)
      : inputs_(inputs),
        mechanism_(*FindMechanism<Real>("memory")),
        config_(DefaultConfig(mechanism_.Describe())) {
    config_.options["num_contexts"] = inputs.num_contexts();
    if (inputs.memory.defined()) config_.dim = inputs.memory.size(3);
    config_.options["encoder_scoring"] = options.encoder_scoring;
    config_.options["decoder_scoring"] = options.decoder_scoring;
    config_.options["position_encoding"] = options.position_encoding;
    config_.options["place"] = options.place;
    config_.options["max_length"] = options.max_length;
  }

  void Expect(const Tensor& out) const {
    const OneBlasThread one_thread;
    WrongNumbers wrong(inputs_.count());
    ForEachSequence([&](Index n, Index length) {
      const MatrixView<Real> made =
          SequenceOf<Real>(out, n, inputs_.num_outputs(), inputs_.columns());
      if (IsEmpty(length)) return ZeroFrom(0, made);
      if (!Check(n, length, wrong)) return;
      Sequence<Real> sequence = SequenceAt(n, length);
      if (inputs_.memory.defined()) {
        sequence.contexts = made;
        return mechanism_.Expect(config_, sequence, {});
      }
      ZeroFrom(length, made);
      mechanism_.Expect(config_, sequence,
                        {.attention = Columns(made, length)});
    });
    wrong.Throw(inputs_.heads());
  }

  void Gradient(const Tensor& cotangent, const Inputs& gradients) const {
    const OneBlasThread one_thread;
    ForEachSequence([&](Index n, Index length) {
      // The mechanism writes what is within the length.
      const Index written = IsEmpty(length) ? 0 : length;
      ZeroRows(written, Encoder(gradients, n, inputs_.num_entries()));
      if (inputs_.memory.defined()) {
        ZeroRows(written, Memory(gradients, n, inputs_.num_entries()));
      }
      if (IsEmpty(length)) return ZeroRows(0, Decoder(gradients, n));
      const MatrixView<const Real> d_made = SequenceOf<Real>(
          cotangent, n, inputs_.num_outputs(), inputs_.columns());
      Cotangent<Real> d_out;
      Gradients<Real> wanted;
      if (inputs_.memory.defined()) {
        d_out.contexts = d_made;
        wanted.memory = Memory(gradients, n, length);
      } else {
        d_out.attention = Columns(d_made, length);
      }
      wanted.scores.Set(memory::kEncoderScores, Encoder(gradients, n, length));
      wanted.scores.Set(memory::kDecoderScores, Decoder(gradients, n));
      mechanism_.Gradient(config_, SequenceAt(n, length), d_out, {}, wanted);
    });
  }

 private:
  template <class Body>
  void ForEachSequence(const Body& body) const {
    ParallelFor(inputs_.count(), at::get_num_threads(),
                [&](Index n) { body(n, inputs_.lengths(n)); });
  }
  bool IsEmpty(Index length) const {
    return length == 0 || inputs_.num_outputs() == 0 || inputs_.columns() == 0;
  }

  static MatrixView<Real> Encoder(const Inputs& of, Index n, Index length) {
    return SequenceOf<Real>(of.encoder, n, length, of.num_contexts());
  }
  static MatrixView<Real> Decoder(const Inputs& of, Index n) {
    return SequenceOf<Real>(of.decoder, n, of.num_outputs(), of.num_contexts());
  }
  static MatrixView<Real> Memory(const Inputs& of, Index n, Index length) {
    return SequenceOf<Real>(of.memory, n, length, of.columns());
  }
  static void ZeroRows(Index first, const MatrixView<Real>& table) {
    ZeroFrom(0, table.Rows(first, table.rows - first));
  }
  template <class Number>
  static MatrixView<Number> Columns(const MatrixView<Number>& table,
                                    Index count) {
    return {table.data, table.rows, count, table.row_stride};
  }

  bool Check(Index n, Index length, WrongNumbers& wrong) const {
    return wrong.Allows<Real>(n, memory::kEncoderScores, Numbers::kFinite,
                              Encoder(inputs_, n, length)) &&
           wrong.Allows<Real>(n, memory::kDecoderScores, Numbers::kFinite,
                              Decoder(inputs_, n)) &&
           (!inputs_.memory.defined() ||
            wrong.Allows<Real>(n, "memory", Numbers::kFinite,
                               Memory(inputs_, n, length)));
  }

  Sequence<Real> SequenceAt(Index n, Index length) const {
    Sequence<Real> sequence;
    sequence.inputs.scores.Set(memory::kEncoderScores,
                               Encoder(inputs_, n, length));
    sequence.inputs.scores.Set(memory::kDecoderScores, Decoder(inputs_, n));
    if (inputs_.memory.defined()) sequence.memory = Memory(inputs_, n, length);
    return sequence;
  }

  const Inputs& inputs_;
  const Mechanism<Real>& mechanism_;
  Config config_;
};

void CheckOption(const std::string& name, const std::string& value) {
  for (const OptionSpec& option :
       FindMechanism<float>("memory")->Describe().options) {
    if (option.name != name) continue;
    std::string allowed;
    for (const std::string& one : option.allowed) {
      if (one == value) return;
      allowed += (allowed.empty() ? "" : ", ") + one;
    }
    TORCH_CHECK_VALUE(false, name, " must be one of ", allowed,
                      ", but is another text: ", value.substr(0, 40));
  }
}

void CheckOptions(const MemoryOptions& options, Index longest) {
  CheckOption("encoder_scoring", options.encoder_scoring);
  CheckOption("decoder_scoring", options.decoder_scoring);
  CheckOption("position_encoding", options.position_encoding);
  CheckOption("place", options.place);
  TORCH_CHECK_VALUE(options.max_length == 0 || options.max_length >= longest,
                    "max_length must be 0 or at least the longest length, ",
                    longest, ", but is ", options.max_length);
}

constexpr const char* kFirst = "encoder_scores";

// Gives the arguments in a form that can be computed with, or throws.
Inputs ValidInputs(const Tensor& encoder_scores, const Tensor& decoder_scores,
                   const OptionalTensor& memory, const MemoryOptions& options,
                   const OptionalTensor& lengths) {
  Inputs inputs;
  inputs.encoder = ValidTable(encoder_scores, kFirst, "[B, H, T, K]");
  const auto sizes = inputs.encoder.sizes();
  TORCH_CHECK_VALUE(sizes[3] > 0, kFirst,
                    " must have K >= 1 columns, but its "
                    "shape is ",
                    sizes);
  inputs.decoder = ValidTable(decoder_scores, "decoder_scores", "[B, H, U, K]");
  CheckFits(decoder_scores, "decoder_scores",
            {sizes[0], sizes[1], -1, sizes[3]}, encoder_scores, kFirst);
  if (memory.has_value()) {
    inputs.memory = ValidTable(*memory, "memory", "[B, H, T, d]");
    CheckFits(*memory, "memory", {sizes[0], sizes[1], sizes[2], -1},
              encoder_scores, kFirst);
  }
  inputs.lengths = SequenceLengths(lengths, inputs.encoder, sizes[2]);
  CheckOptions(options, inputs.lengths.longest());
  return inputs;
}

Tensor Compute(const Tensor& encoder_scores, const Tensor& decoder_scores,
               const OptionalTensor& memory, const MemoryOptions& options,
               const OptionalTensor& lengths) {
  const Inputs inputs =
      ValidInputs(encoder_scores, decoder_scores, memory, options, lengths);
  const Tensor out = MakeResult({inputs.encoder.size(0), inputs.heads(),
                                 inputs.num_outputs(), inputs.columns()},
                                inputs.encoder.options());
  if (!out.is_meta()) {
    AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), "attnbench", [&] {
      Call<scalar_t>(inputs, options).Expect(out);
    });
  }
  return InTypeOf(encoder_scores, out);
}

// Of encoder scores, decoder scores and memory.
std::array<Tensor, 3> ComputeGradient(const OptionalTensor& d_out,
                                      const Tensor& encoder_scores,
                                      const Tensor& decoder_scores,
                                      const OptionalTensor& memory,
                                      const MemoryOptions& options,
                                      const OptionalTensor& lengths) {
  const Inputs inputs =
      ValidInputs(encoder_scores, decoder_scores, memory, options, lengths);
  const Tensor cotangent =
      ValidCotangent(d_out, memory.has_value() ? "d_contexts" : "d_attention",
                     {inputs.encoder.size(0), inputs.heads(),
                      inputs.num_outputs(), inputs.columns()},
                     encoder_scores, kFirst);
  const auto make = [&](const Tensor& like) {
    if (!like.defined()) return Tensor();
    const Tensor made = MakeResultLike(like);
    return cotangent.defined() ? made : made.zero_();
  };
  const Inputs gradients{
      make(inputs.encoder), make(inputs.decoder), make(inputs.memory), {}};
  if (cotangent.defined() && !cotangent.is_meta()) {
    AT_DISPATCH_FLOATING_TYPES(cotangent.scalar_type(), "attnbench", [&] {
      Call<scalar_t>(inputs, options).Gradient(cotangent, gradients);
    });
  }
  return {InTypeOf(encoder_scores, gradients.encoder),
          InTypeOf(encoder_scores, gradients.decoder),
          InTypeOf(encoder_scores, gradients.memory)};
}

MemoryOptions OptionsOf(c10::string_view encoder_scoring,
                        c10::string_view decoder_scoring,
                        c10::string_view position_encoding,
                        c10::string_view place, std::int64_t max_length) {
  return {.encoder_scoring = std::string(encoder_scoring),
          .decoder_scoring = std::string(decoder_scoring),
          .position_encoding = std::string(position_encoding),
          .place = std::string(place),
          .max_length = max_length};
}

// The kernels, by the schemas below. All gradients are made at once, so those
// that are not wanted cost nothing more.

Tensor Attention(const Tensor& encoder_scores, const Tensor& decoder_scores,
                 OptionalRef lengths, c10::string_view encoder_scoring,
                 c10::string_view decoder_scoring,
                 c10::string_view position_encoding, c10::string_view place,
                 std::int64_t max_length) {
  return Compute(encoder_scores, decoder_scores, {},
                 OptionsOf(encoder_scoring, decoder_scoring, position_encoding,
                           place, max_length),
                 lengths);
}

std::tuple<Tensor, Tensor> AttentionGradient(
    OptionalRef d_attention, std::array<bool, 2> /*output_mask*/,
    const Tensor& encoder_scores, const Tensor& decoder_scores,
    OptionalRef lengths, c10::string_view encoder_scoring,
    c10::string_view decoder_scoring, c10::string_view position_encoding,
    c10::string_view place, std::int64_t max_length) {
  auto [d_encoder, d_decoder, none] =
      ComputeGradient(d_attention, encoder_scores, decoder_scores, {},
                      OptionsOf(encoder_scoring, decoder_scoring,
                                position_encoding, place, max_length),
                      lengths);
  return {d_encoder, d_decoder};
}

Tensor Contexts(const Tensor& encoder_scores, const Tensor& decoder_scores,
                const Tensor& memory, OptionalRef lengths,
                c10::string_view encoder_scoring,
                c10::string_view decoder_scoring,
                c10::string_view position_encoding, c10::string_view place,
                std::int64_t max_length) {
  return Compute(encoder_scores, decoder_scores, memory,
                 OptionsOf(encoder_scoring, decoder_scoring, position_encoding,
                           place, max_length),
                 lengths);
}

std::tuple<Tensor, Tensor, Tensor> ContextsGradient(
    OptionalRef d_contexts, std::array<bool, 3> /*output_mask*/,
    const Tensor& encoder_scores, const Tensor& decoder_scores,
    const Tensor& memory, OptionalRef lengths, c10::string_view encoder_scoring,
    c10::string_view decoder_scoring, c10::string_view position_encoding,
    c10::string_view place, std::int64_t max_length) {
  return std::tuple_cat(
      ComputeGradient(d_contexts, encoder_scores, decoder_scores, memory,
                      OptionsOf(encoder_scoring, decoder_scoring,
                                position_encoding, place, max_length),
                      lengths));
}

constexpr const char* kOptions =
    "Tensor? lengths=None, str encoder_scoring=\"softmax\", str"
    " decoder_scoring=\"softmax\", str position_encoding=\"none\", str"
    " place=\"inside\", int max_length=0";

TORCH_LIBRARY_FRAGMENT(attnbench, library) {
  Define(library,
         {.name = "memory_attention",
          .arguments = std::string("Tensor encoder_scores, Tensor"
                                   " decoder_scores, ") +
                       kOptions,
          .results = "Tensor",
          .cotangents = "Tensor? d_attention, bool[2] output_mask",
          .gradients = "(Tensor encoder_scores, Tensor decoder_scores)"},
         &Attention, &AttentionGradient);
  Define(library,
         {.name = "memory_contexts",
          .arguments = std::string("Tensor encoder_scores, Tensor"
                                   " decoder_scores, Tensor memory, ") +
                       kOptions,
          .results = "Tensor",
          .cotangents = "Tensor? d_contexts, bool[3] output_mask",
          .gradients = "(Tensor encoder_scores, Tensor decoder_scores, Tensor"
                       " memory)"},
         &Contexts, &ContextsGradient);
}

}  // namespace

at::Tensor MemoryAttention(const at::Tensor& encoder_scores,
                           const at::Tensor& decoder_scores,
                           const MemoryOptions& options,
                           const OptionalTensor& lengths) {
  static const auto operation =
      Operator<decltype(Attention)>("memory_attention");
  return operation.call(encoder_scores, decoder_scores, lengths,
                        options.encoder_scoring, options.decoder_scoring,
                        options.position_encoding, options.place,
                        options.max_length);
}

at::Tensor MemoryContexts(const at::Tensor& encoder_scores,
                          const at::Tensor& decoder_scores,
                          const at::Tensor& memory,
                          const MemoryOptions& options,
                          const OptionalTensor& lengths) {
  static const auto operation = Operator<decltype(Contexts)>("memory_contexts");
  return operation.call(encoder_scores, decoder_scores, memory, lengths,
                        options.encoder_scoring, options.decoder_scoring,
                        options.position_encoding, options.place,
                        options.max_length);
}

}  // namespace attnbench::torch_operators
