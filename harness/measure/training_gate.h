// The gate before the clock for modes expect and gradient (decode_gate.h has
// the one of decode).
#ifndef ATTNBENCH_HARNESS_MEASURE_TRAINING_GATE_H_
#define ATTNBENCH_HARNESS_MEASURE_TRAINING_GATE_H_

#include "harness/inputs/point_inputs.h"
#include "harness/measure/decode_gate.h"
#include "mechanisms/description.h"

namespace attnbench {

// Runs each sequence as the cell would, and again with variant `reference`, and
// compares element by element everything that the cell writes: attention or
// contexts, and gradients of scores, or of states, memory and parameters (a
// parameter that one side lacks has gradient zero). Checks, bit by bit, that
// TrainBatch on `threads` threads gives what the sequences give alone.
//
// An element may differ by
//
//   (expm1(delta) + 8 eps sqrt(T + U)) scale
//
// where eps is half the machine epsilon, delta the rounding of an energy
// (decode_gate.h), and T + U how many factors are on a path from the first
// entry and output to the last, whose roundings are independent: hence the
// root. `scale` is how large elements are that nothing cancels in:
//
// - attention of an output: the largest of that output;
// - a context: its largest element, or |attention| max|h| where that is more,
//   |.| the Euclidean norm;
// - a gradient array: its largest element, or where that is more, as sums may
//   cancel, the largest attention times the largest |cotangent| or |dL/d
//   attention|; a scalar (g, r) sums over all pairs: sqrt(U T) times that.
//
// All of them by the reference. The largest errors seen were a fifth of the
// bound. T times the smallest normal number pass whatever the scale: an element
// may be the sum of so many terms, each with less than it lost. A first factor
// of 1/2 or more could tell nothing: that throws std::runtime_error. Variants
// that need not agree (description.h) have their error recorded, without a
// bound, and pass whatever it is.
//
// One with an option that bounds the L1 error of its rows of attention
// (VariantSpec::bound, of `banded`) is held to the certificate of each row: the
// sum of the errors of a row of attention may be the mass that was cut up to it
// (the bound where the variant does not tell that), and the rounding of all its
// elements. Elements of contexts may be off by the largest |h| times that mass,
// and gradients of energies by what follows from it. Of gradients of p it says
// nothing, and those of memory, states and parameters are sums of so many
// elements that it says next to nothing: they are not looked at.
//
// The first outputs of a draw are checked, for as many as 2^27 multiply-adds of
// the reference serve: half of them for draw 0, the rest shared by the others,
// at least one output. The reference may take T^2 for an output. Throws what
// the mechanism and the workload throw.
//
// With a `peer`, the peer runs, all sequences of a draw at once; its bits are
// its own business, and it need not agree where it says that it approximates.
template <class Real>
GateResult CheckTraining(const Mechanism<Real>& mechanism, const Config& config,
                         const TrainingRequest& request, int threads,
                         PointInputs<Real>& inputs,
                         PeerCell<Real>* peer = nullptr);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MEASURE_TRAINING_GATE_H_
