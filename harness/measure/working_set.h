// What one thread touches while it does its sequences of a trial: the level of
// the memory that holds it is the one whose bandwidth counts (roofline.h).
//
// Of a sequence: the views that the mechanism is given, inputs and outputs
// both, as far as it reads them, and what it held of its own at its peak
// (peak_memory_bytes). Of all its sequences: the parameters that it asked for,
// which they share. Other draws are left out: a trial that goes through its
// memory once finds it where the trials before left it, further away than this
// says, and is slower than its limit.
#ifndef ATTNBENCH_HARNESS_MEASURE_WORKING_SET_H_
#define ATTNBENCH_HARNESS_MEASURE_WORKING_SET_H_

#include "mechanisms/mechanism.h"
#include "mechanisms/train.h"

namespace attnbench {

// Bytes of the views of a sequence that is decoded: memory [T, d], contexts
// [U, d], and of each list of the mechanism's scores the table that is given;
// or, where none is given, states [U, d] and the further inputs that it reads.
template <class Real>
Index ViewBytes(const Config& config, const Description& mechanism,
                const Sequence<Real>& sequence);

// The same of one that is trained on, with attention, cotangents and gradients
// where they are wanted, and without memory where no contexts are.
template <class Real>
Index ViewBytes(const Config& config, const Description& mechanism,
                const TrainingSequence<Real>& one);

// `sequence_bytes` are those of all `batch` sequences together (views and
// peaks), `parameter_bytes` those that they share. The thread with the most
// sequences has ceil(batch / threads) of them; where their lengths differ, of
// mean size, rounded up.
Index WorkingSetBytes(Index sequence_bytes, Index parameter_bytes, Index batch,
                      int threads);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MEASURE_WORKING_SET_H_
