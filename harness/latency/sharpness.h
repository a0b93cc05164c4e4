// Measures how far training is from decoding as the choice gets sharper.
//
// Training sees the expectation of the sampled process, decoding by the
// threshold takes the entries with p >= 1/2. The two agree where every p is 0
// or 1 (MAD 2.5), and noise before the sigmoid drives p there. Here energies e
// = logit(p) are multiplied by a sharpness s > 0, which leaves the decoded
// entries as they are:
//
//   p(s) = sigmoid(s e) = 1 / (1 + ((1 - p) / p)^s)
//
// and expected attention and contexts are compared with those decoded. Zeros
// and ones of p stay what they are, and 1/2 stays 1/2.
#ifndef ATTNBENCH_HARNESS_LATENCY_SHARPNESS_H_
#define ATTNBENCH_HARNESS_LATENCY_SHARPNESS_H_

#include <optional>

#include "mechanisms/mechanism.h"

namespace attnbench {

struct HardDistance {
  double sharpness = 1;
  // The total variation distance between the expected and the decoded weights,
  // mean over outputs, 0..1; missing weight, on either side, counts as the
  // weight of one more entry.
  double attention = 0;
  // The root mean square distance of the contexts over the outputs, as a share
  // of the root mean square length of the memory's rows.
  std::optional<double> context = {};

  static void Fields(auto& self, auto& visit) {
    visit("sharpness", self.sharpness);
    visit("attention_distance", self.attention);
    visit("context_distance", self.context);
  }
};

// Compares the mechanism's expectation in `config` with its decoder without
// sampling, for a sequence with given p_choose or energies [U, T], U and T > 0.
// Without a memory (`has_memory`) there is no context. Throws Unsupported.
HardDistance DistanceToHard(const Mechanism<double>& mechanism,
                            const Config& config,
                            const Sequence<double>& sequence, bool has_memory,
                            double sharpness);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_LATENCY_SHARPNESS_H_
