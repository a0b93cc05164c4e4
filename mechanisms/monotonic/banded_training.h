// Training by variant `banded`: attention on a band (banded_attention.h), and
// what follows from it. Energies are evaluated on the band alone, contexts and
// dL/d attention likewise. Tables [U, T] that somebody wants are zero
// elsewhere. Where a band would be too wide everything is computed as `exact`
// does.
#ifndef ATTNBENCH_MECHANISMS_MONOTONIC_BANDED_TRAINING_H_
#define ATTNBENCH_MECHANISMS_MONOTONIC_BANDED_TRAINING_H_

#include <memory>

#include "mechanisms/monotonic/banded_selection.h"
#include "mechanisms/monotonic/chunk_expectation.h"

namespace attnbench {

// Takes `config` and `make_chunk` as BandedAttention does.
template <class Real>
std::unique_ptr<SequenceTrainer<Real>> MakeBandedTrainer(
    const Config& config, MakeChunkExpectation<Real> make_chunk);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_MONOTONIC_BANDED_TRAINING_H_
