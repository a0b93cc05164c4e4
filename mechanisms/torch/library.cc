// Registers the operators with PyTorch: torch.ops.attnbench.NAME in Python and
// in TorchScript. Texts stand for enumerations.
#include <torch/library.h>

#include <tuple>

#include "mechanisms/torch/operators.h"

namespace attnbench::torch_operators {
namespace {

using at::Tensor;
using OptionalRef = const c10::optional<Tensor>&;

EndPolicy EndOf(c10::string_view text) {
  if (text == "absorb") return EndPolicy::kAbsorb;
  if (text == "stay_last") return EndPolicy::kStayLast;
  if (text == "restart") return EndPolicy::kRestart;
  TORCH_CHECK_VALUE(false,
                    "end must be one of absorb, stay_last, restart, but is "
                    "another text: ",
                    text.substr(0, 40));
}

ScoreKind KindOf(bool probabilities) {
  return probabilities ? ScoreKind::kProbabilities : ScoreKind::kEnergies;
}

Tensor Monotonic(const Tensor& scores, bool probabilities, OptionalRef lengths,
                 OptionalRef start, c10::string_view end) {
  return MonotonicAttention(scores, KindOf(probabilities), lengths, start,
                            EndOf(end));
}

std::tuple<Tensor, Tensor> Mocha(const Tensor& scores, bool probabilities,
                                 const Tensor& chunk_energies,
                                 std::int64_t width, OptionalRef lengths,
                                 OptionalRef start, c10::string_view end) {
  return MochaAttention(scores, KindOf(probabilities), chunk_energies, width,
                        lengths, start, EndOf(end));
}

std::tuple<Tensor, Tensor> Matcha(const Tensor& scores, bool probabilities,
                                  const Tensor& chunk_energies,
                                  OptionalRef lengths, OptionalRef start,
                                  c10::string_view end) {
  return MatchaAttention(scores, KindOf(probabilities), chunk_energies, lengths,
                         start, EndOf(end));
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

Tensor Memory(const Tensor& encoder_scores, const Tensor& decoder_scores,
              OptionalRef lengths, c10::string_view encoder_scoring,
              c10::string_view decoder_scoring,
              c10::string_view position_encoding, c10::string_view place,
              std::int64_t max_length) {
  return MemoryAttention(encoder_scores, decoder_scores,
                         OptionsOf(encoder_scoring, decoder_scoring,
                                   position_encoding, place, max_length),
                         lengths);
}

Tensor Contexts(const Tensor& encoder_scores, const Tensor& decoder_scores,
                const Tensor& memory, OptionalRef lengths,
                c10::string_view encoder_scoring,
                c10::string_view decoder_scoring,
                c10::string_view position_encoding, c10::string_view place,
                std::int64_t max_length) {
  return MemoryContexts(encoder_scores, decoder_scores, memory,
                        OptionsOf(encoder_scoring, decoder_scoring,
                                  position_encoding, place, max_length),
                        lengths);
}

}  // namespace

TORCH_LIBRARY(attnbench, library) {
  library.def(
      "monotonic_attention(Tensor scores, bool probabilities, "
      "Tensor? lengths=None, Tensor? start=None, str end=\"absorb\") -> Tensor",
      &Monotonic);
  library.def(
      "mocha_attention(Tensor scores, bool probabilities, "
      "Tensor chunk_energies, int width, Tensor? lengths=None, "
      "Tensor? start=None, str end=\"absorb\") -> "
      "(Tensor attention, Tensor alpha)",
      &Mocha);
  library.def(
      "matcha_attention(Tensor scores, bool probabilities, "
      "Tensor chunk_energies, Tensor? lengths=None, Tensor? start=None, "
      "str end=\"absorb\") -> (Tensor attention, Tensor alpha)",
      &Matcha);
  library.def(
      "memory_attention(Tensor encoder_scores, Tensor decoder_scores, "
      "Tensor? lengths=None, str encoder_scoring=\"softmax\", "
      "str decoder_scoring=\"softmax\", str position_encoding=\"none\", "
      "str place=\"inside\", int max_length=0) -> Tensor",
      &Memory);
  library.def(
      "memory_contexts(Tensor encoder_scores, Tensor decoder_scores, "
      "Tensor memory, Tensor? lengths=None, str encoder_scoring=\"softmax\", "
      "str decoder_scoring=\"softmax\", str position_encoding=\"none\", "
      "str place=\"inside\", int max_length=0) -> Tensor",
      &Contexts);
  library.def(
      "additive_energies(Tensor queries, Tensor keys, Tensor v, "
      "Tensor? lengths=None) -> Tensor",
      &AdditiveEnergies);
}

}  // namespace attnbench::torch_operators
