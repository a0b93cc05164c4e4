// The operators of fixed-size memory attention.
#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "mechanisms/common/parallel.h"
#include "mechanisms/description.h"
#include "mechanisms/memory/memory.h"
#include "mechanisms/registry.h"
#include "mechanisms/torch/arguments.h"
#include "mechanisms/torch/operators.h"

namespace attnbench::torch_operators {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What a call reads: encoder_scores [B, H, T, K], decoder_scores [B, H, U, K],
// and, where contexts are made and not attention, memory [B, H, T, d].
struct Inputs {
  Tensor encoder;
  Tensor decoder;
  Tensor memory;
  Tensor lengths;

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
        lengths_(inputs.lengths, inputs.heads(), inputs.num_entries()),
        mechanism_(*FindMechanism<Real>("memory")),
        config_(DefaultConfig(mechanism_.Describe())) {
    config_.num_contexts = inputs.num_contexts();
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

  // `gradients` are zero before.
  void Gradient(const Tensor& cotangent, const Inputs& gradients) const {
    const OneBlasThread one_thread;
    ForEachSequence([&](Index n, Index length) {
      if (IsEmpty(length)) return;
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
                [&](Index n) { body(n, lengths_(n)); });
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
  const SequenceLengths lengths_;
  const Mechanism<Real>& mechanism_;
  Config config_;
};

// The gradient as a function of its own, which has none.
class MemoryGradient : public torch::autograd::Function<MemoryGradient> {
 public:
  static variable_list forward(AutogradContext* /*context*/,
                               const Tensor& encoder, const Tensor& decoder,
                               const OptionalTensor& memory,
                               const OptionalTensor& lengths,
                               const Tensor& cotangent,
                               const MemoryOptions& options) {
    const Inputs inputs{encoder, decoder, memory.value_or(Tensor()),
                        lengths.value_or(Tensor())};
    const auto zeros = [&](const Tensor& like) {
      return at::zeros(like.sizes(), like.options().requires_grad(false));
    };
    variable_list made = {zeros(encoder), zeros(decoder)};
    if (inputs.memory.defined()) made.push_back(zeros(inputs.memory));
    const Inputs gradients{
        made[0], made[1], made.size() > 2 ? made[2] : Tensor(), {}};
    AT_DISPATCH_FLOATING_TYPES(encoder.scalar_type(), "attnbench", [&] {
      Call<scalar_t>(inputs, options).Gradient(cotangent, gradients);
    });
    return made;
  }

  static constexpr auto backward = &RefuseSecondDerivative;
};

class MemoryFunction : public torch::autograd::Function<MemoryFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& encoder,
                        const Tensor& decoder, const OptionalTensor& memory,
                        const OptionalTensor& lengths,
                        const MemoryOptions& options) {
    const Inputs inputs{encoder, decoder, memory.value_or(Tensor()),
                        lengths.value_or(Tensor())};
    context->save_for_backward(
        {encoder, decoder, inputs.memory, inputs.lengths});
    auto& kept = context->saved_data;
    kept["encoder_scoring"] = options.encoder_scoring;
    kept["decoder_scoring"] = options.decoder_scoring;
    kept["position_encoding"] = options.position_encoding;
    kept["place"] = options.place;
    kept["max_length"] = options.max_length;
    const Tensor out = at::empty(
        {encoder.size(0), encoder.size(1), decoder.size(2), inputs.columns()},
        encoder.options().requires_grad(false));
    AT_DISPATCH_FLOATING_TYPES(encoder.scalar_type(), "attnbench", [&] {
      Call<scalar_t>(inputs, options).Expect(out);
    });
    return out;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& cotangents) {
    auto& kept = context->saved_data;
    const MemoryOptions options{
        .encoder_scoring = kept["encoder_scoring"].toStringRef(),
        .decoder_scoring = kept["decoder_scoring"].toStringRef(),
        .position_encoding = kept["position_encoding"].toStringRef(),
        .place = kept["place"].toStringRef(),
        .max_length = kept["max_length"].toInt()};
    const variable_list saved = context->get_saved_variables();
    variable_list gradients = MemoryGradient::apply(
        saved[0], saved[1], OptionalTensor(saved[2]), OptionalTensor(saved[3]),
        cotangents[0].resolve_neg().contiguous(), options);
    gradients.resize(kArguments);
    return gradients;
  }

 private:
  static constexpr std::size_t kArguments = 5;
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

void CheckOptions(const MemoryOptions& options, const Tensor& lengths,
                  std::int64_t most) {
  CheckOption("encoder_scoring", options.encoder_scoring);
  CheckOption("decoder_scoring", options.decoder_scoring);
  CheckOption("position_encoding", options.position_encoding);
  CheckOption("place", options.place);
  if (options.max_length == 0) return;
  const std::int64_t longest = !lengths.defined() ? most
                               : lengths.numel() == 0
                                   ? 0
                                   : lengths.max().item<std::int64_t>();
  TORCH_CHECK_VALUE(options.max_length >= longest,
                    "max_length must be 0 or at least the longest length, ",
                    longest, ", but is ", options.max_length);
}

Tensor Run(const Tensor& encoder_scores, const Tensor& decoder_scores,
           const OptionalTensor& memory, const MemoryOptions& options,
           const OptionalTensor& lengths) {
  const char* const first = "encoder_scores";
  const Tensor encoder = TakeTable(encoder_scores, first, "[B, H, T, K]");
  const auto sizes = encoder.sizes();
  TORCH_CHECK_VALUE(sizes[3] > 0, first,
                    " must have K >= 1 columns, but its "
                    "shape is ",
                    sizes);
  const Tensor decoder =
      TakeTable(decoder_scores, "decoder_scores", "[B, H, U, K]");
  CheckFits(decoder_scores, "decoder_scores",
            {sizes[0], sizes[1], -1, sizes[3]}, encoder_scores, first);
  OptionalTensor entries;
  if (memory.has_value()) {
    entries = TakeTable(*memory, "memory", "[B, H, T, d]");
    CheckFits(*memory, "memory", {sizes[0], sizes[1], sizes[2], -1},
              encoder_scores, first);
  }
  const Tensor taken = TakeLengths(lengths, sizes[0], sizes[2]);
  CheckOptions(options, taken, sizes[2]);
  return MemoryFunction::apply(encoder, decoder, entries, OptionalTensor(taken),
                               options)
      .to(encoder_scores.scalar_type());
}

}  // namespace

at::Tensor MemoryAttention(const at::Tensor& encoder_scores,
                           const at::Tensor& decoder_scores,
                           const MemoryOptions& options,
                           const OptionalTensor& lengths) {
  return Run(encoder_scores, decoder_scores, {}, options, lengths);
}

at::Tensor MemoryContexts(const at::Tensor& encoder_scores,
                          const at::Tensor& decoder_scores,
                          const at::Tensor& memory,
                          const MemoryOptions& options,
                          const OptionalTensor& lengths) {
  return Run(encoder_scores, decoder_scores, memory, options, lengths);
}

}  // namespace attnbench::torch_operators
