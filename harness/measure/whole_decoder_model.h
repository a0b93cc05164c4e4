// The model of an experiment with random weights: what is timed, and the same
// numbers in f64 for the gate.
#ifndef ATTNBENCH_HARNESS_MEASURE_WHOLE_DECODER_MODEL_H_
#define ATTNBENCH_HARNESS_MEASURE_WHOLE_DECODER_MODEL_H_

#include <cstdint>
#include <vector>

#include "harness/inputs/drawn_parameters.h"
#include "harness/model/translator.h"

namespace attnbench {

// How a hard scan goes. How long a step takes does not depend on the weights;
// but how much of the memory a mechanism that chooses reads does. Embeddings
// have variance 1 and the layers' weights five times the usual standard
// deviation, so that states follow the symbols.
enum class Scan {
  // The energies' weights are eight times as large, and r = -0.5: an energy
  // depends on state and entry together, and hypotheses stand on different
  // entries, for the gate; some stand still, or run off the end and cost
  // nothing from then on.
  kRandom,
  // As that of trained weights, which reads the whole memory while it makes the
  // whole output: a unit of the encoder counts the symbols and one of the
  // decoder the outputs, and additive energies weigh the difference above all
  // else. An output chooses so many entries behind the one before (Counting);
  // with one entry an output, the last output chooses the last. With 1/n of an
  // entry, n outputs choose the same one; with other numbers choices may be an
  // entry off. Other energies than additive, and fewer than two units, count
  // nothing. What was really read is counted beside the times (AttentionReads).
  kCounting,
  // The same counters, but energies have a peak at the entry that kCounting
  // would choose, as those of trained soft attention have, and fall off on both
  // sides, so that a policy that looks at the largest one (alignatt.h) reads
  // the whole memory over the whole output, too. Under kCounting energies rise
  // up to the newest entry, and such a policy would wait for the end.
  kAligned,
};

// How scans that count go through the memory.
struct Counting {
  double entries_per_output = 1;  // above 0
  // No source is longer. What one entry adds to the counters gets smaller with
  // it from 256 on, so that they do not saturate.
  Index longest = 256;
};

// Arrays are drawn when they are first asked for, and kept.
class DecoderModel {
 public:
  // `counting` is of scans that count, kAligned among them.
  DecoderModel(const ModelSizes& sizes, std::uint64_t seed, Scan scan,
               const Counting& counting = {}, ArrayGaps* gaps = nullptr);

  const ModelSizes& sizes() const { return sizes_; }
  std::uint64_t seed() const { return seed_; }

  template <class Real>
  ModelWeights<Real> Weights(bool has_attention) const;

  // What the decoders of a mechanism read; points into this.
  template <class Real>
  SequenceInputs<Real> Inputs() const;

 private:
  template <class Real>
  const DrawnParameters<Real>& Parameters() const;

  const ModelSizes sizes_;
  const std::uint64_t seed_;
  const Scan scan_;
  const DrawnParameters<float> floats_;
  const DrawnParameters<double> doubles_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MEASURE_WHOLE_DECODER_MODEL_H_
