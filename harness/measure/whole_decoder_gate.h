// The gate before the clock of whole decoders: none is timed before its
// translations agreed with the scalar reference.
#ifndef ATTNBENCH_HARNESS_MEASURE_WHOLE_DECODER_GATE_H_
#define ATTNBENCH_HARNESS_MEASURE_WHOLE_DECODER_GATE_H_

#include <span>

#include "harness/measure/decode_gate.h"
#include "harness/measure/whole_decoder_model.h"

namespace attnbench {

// A whole decoder: the model with a mechanism, which is null without attention.
// `reference` is the same mechanism in f64.
struct WholeDecoder {
  const DecoderModel* model = nullptr;
  const Mechanism<float>* mechanism = nullptr;
  const Mechanism<double>* reference = nullptr;
  Config config;
  Index beam = 1;

  Translator<float> MakeTranslator() const;
};

// Translates beginnings of the sources, with nothing favoured, so that every
// probability counts, and an empty source. Requires:
//   - as many different translations as the beam has, in falling order;
//   - greedy the same symbols as a beam of 1;
//   - the first and the last hypothesis of the beam alone, one row and Step
//     instead of StepBeam: the same log-probability, and the same positions;
//   - of the first symbols, the scalar reference of the model and of the
//     mechanism the same log-probability and positions.
// Sums of n log-probabilities agree within kStepError (n + 1). GateResult tells
// what did not, and the largest difference.
GateResult CheckWholeDecoder(const WholeDecoder& decoder,
                             std::span<const TranslationTask> tasks);

// For f32: a logit is a sum of d products after some ten roundings through
// gates, each of a few units of 2^-24, and errors of a state do not grow from
// step to step; seen was a tenth of it. A wrong fork or weight moves
// log-probabilities by 1e-2 and more.
inline constexpr double kStepError = 1e-4;

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MEASURE_WHOLE_DECODER_GATE_H_
