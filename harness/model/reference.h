// This is the model of weights.h in scalar loops and f64, in the order of its
// formulas: the oracle of lstm.h, seq2seq.h and translator.h. It makes one
// hypothesis at a time, each with a decoder of variant `reference`, and shares
// nothing with them but the weights.
#ifndef ATTNBENCH_HARNESS_MODEL_REFERENCE_H_
#define ATTNBENCH_HARNESS_MODEL_REFERENCE_H_

#include <vector>

#include "harness/model/translator.h"

namespace attnbench {

using Vector = std::vector<double>;

// h and c of one layer.
struct LstmState {
  Vector h, c;
};

// The formulas of lstm.h for one input.
LstmState ReferenceLstm(const LstmWeights<double>& weights, double forget_bias,
                        const Vector& x, const LstmState& last);

struct ReferenceEncoded {
  std::vector<Vector> memory;     // T of [d]
  std::vector<LstmState> states;  // of each layer, both directions' sum
};
ReferenceEncoded ReferenceEncode(const ModelWeights<double>& weights,
                                 const ModelSizes& sizes,
                                 std::span<const Symbol> source);

// Does what Translator::Force does, for a source that is encoded. Where
// rounding alone decides which entry is chosen it follows `positions`
// (mechanisms/follow.h). `inputs.parameters` are the mechanism's; without a
// mechanism (null) there is no attention.
Translation ReferenceForce(
    const ModelWeights<double>& weights, const ModelSizes& sizes,
    const Mechanism<double>* mechanism, const Config& config,
    const SequenceInputs<double>& inputs, const ReferenceEncoded& encoded,
    const TranslationTask& task, std::span<const Symbol> symbols,
    std::span<const Index> positions);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MODEL_REFERENCE_H_
