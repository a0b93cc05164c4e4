// Counts the bytes that one thread touches while it does its sequences of a
// trial: the level of the memory that holds them is the one whose bandwidth
// counts (roofline.h).
//
// For a sequence these are the views that the mechanism is given, inputs and
// outputs, as far as it reads them, and its own memory at its peak
// (peak_memory_bytes). The parameters that it asked for count once, as all
// sequences share them. Other draws are left out: a trial that goes through its
// memory once finds it where earlier trials left it, further away than this
// says, and is slower than its limit.
#ifndef ATTNBENCH_HARNESS_MEASURE_WORKING_SET_H_
#define ATTNBENCH_HARNESS_MEASURE_WORKING_SET_H_

#include "mechanisms/mechanism.h"
#include "mechanisms/train.h"

namespace attnbench {

// The bytes of the views of a sequence that is decoded: memory [T, d], contexts
// [U, d], and the given table of each list of the mechanism's scores; or, if
// none is given, states [U, d] and the further inputs that it reads.
template <class Real>
Index ViewBytes(const Config& config, const Description& mechanism,
                const Sequence<Real>& sequence);

// The same for a sequence that is trained on, with the attention, cotangents
// and gradients that are asked for, and without memory if no contexts are.
template <class Real>
Index ViewBytes(const Config& config, const Description& mechanism,
                const TrainingSequence<Real>& one);

// `sequence_bytes` are those of all `batch` sequences together (views and
// peaks), `parameter_bytes` those that they share. The thread with the most
// sequences has ceil(batch / threads) of them, each counted with the mean size,
// rounded up.
Index WorkingSetBytes(Index sequence_bytes, Index parameter_bytes, Index batch,
                      int threads);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MEASURE_WORKING_SET_H_
