// Pre-sigmoid noise (MAD 2.5): while training, Gaussian noise is added to every
// energy of the choice, which makes p discrete. There is one number for each
// (i, j), from Philox keyed by seed and sequence.
#ifndef ATTNBENCH_MECHANISMS_TRAINING_NOISE_H_
#define ATTNBENCH_MECHANISMS_TRAINING_NOISE_H_

#include "mechanisms/mechanism.h"

namespace attnbench {

// Option `noise`, of mechanisms that choose: the standard deviation.
OptionSpec NoiseOption();
// The value of that option, 0 for mechanisms without it.
double NoiseOf(const Config& config);
// The noise of standard deviation 1 at (i, j).
double StandardNoise(std::uint64_t seed, std::uint32_t stream, Index i,
                     Index j);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_TRAINING_NOISE_H_
