// Draws from the sampled process, for every mechanism that chooses at random:
// what draws is the decoder itself under option `sample`, entry by entry as in
// MAD algorithm 1 with z ~ Bernoulli(p) (MAD eq 8). Nothing here knows a
// formula of the expectation, so what is compared with the expectation is what
// decodes.
//
// A trial is a pure function of (inputs.seed, trial): the same on every number
// of threads, in any order. It costs what decoding costs.
#ifndef ATTNBENCH_MECHANISMS_SAMPLE_H_
#define ATTNBENCH_MECHANISMS_SAMPLE_H_

#include <cstdint>

#include "mechanisms/decode.h"

namespace attnbench {

// True where the mechanism has the option `sample`. The others have nothing
// random: what they decode is their expectation, unless a policy decides when
// (HasPolicy).
bool ChoosesAtRandom(const Description& description);

// The config under which decoding draws from the sampled process, weights
// included; of a mechanism without randomness only the weights are added.
Config SamplingConfig(const Description& description, Config config);

// Makes one trial: decodes `sequence`, whose stream becomes the trial's number,
// and calls on_step(i, result) for every output. `config` is a SamplingConfig.
template <class Real, class OnStep>
void SampleSequence(const Mechanism<Real>& mechanism, const Config& config,
                    Sequence<Real> sequence, std::uint32_t trial,
                    const OnStep& on_step) {
  sequence.inputs.stream = trial;
  DecodeSequence(mechanism, config, sequence, on_step);
}

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_SAMPLE_H_
