// Training by variant `banded`: alpha on a band (banded_selection.h), and what
// follows from it. Energies of the choice are evaluated on the band alone,
// chunk energies in the chunks that end there, contexts and dL/d attention
// likewise. Tables [U, T] that somebody wants are zero elsewhere. Where a band
// would be too wide everything is computed as `exact` does.
#ifndef ATTNBENCH_MECHANISMS_MONOTONIC_BANDED_TRAINING_H_
#define ATTNBENCH_MECHANISMS_MONOTONIC_BANDED_TRAINING_H_

#include <memory>

#include "mechanisms/monotonic/banded_selection.h"
#include "mechanisms/monotonic/chunk_expectation.h"

namespace attnbench {

// `make_chunk` makes a step that reads the selection alone and whose chunks end
// at the choice with at most option chunk_width entries; null, or if it makes
// null for `config`: attention is alpha. `config` outlives what is made.
template <class Real>
std::unique_ptr<SequenceTrainer<Real>> MakeBandedTrainer(
    const Config& config, MakeChunkExpectation<Real> make_chunk);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_MONOTONIC_BANDED_TRAINING_H_
