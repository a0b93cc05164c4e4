// The gate before the clock: no cell is timed before its output agreed with the
// reference of its mechanism, so a speed is never that of a wrong answer. Where
// several processes decode a cell the first compares, and the sums of the
// others must be its (replicates.h).
#ifndef ATTNBENCH_HARNESS_MEASURE_DECODE_GATE_H_
#define ATTNBENCH_HARNESS_MEASURE_DECODE_GATE_H_

#include <string>

#include "harness/inputs/workload.h"
#include "harness/peer/cell.h"

namespace attnbench {

struct GateResult {
  double error = 0;        // largest difference of a context element
  double error_bound = 0;  // largest bound of an output
  std::string message;     // the first disagreement; empty if all agreed
};

// Decodes each sequence as the cell would, and again with variant `reference`,
// schedule online, following the positions found (rounding alone may decide
// between choosing an entry, or emitting an output, and passing it). Compares
// exactly: position, entries weighted and energies inspected of every output,
// and that DecodeBatch on `threads` threads gives the bits that decoding one
// sequence alone gives. Compares contexts element by element, within
//
//   (expm1(4 delta) + 8 eps sqrt(n)) max(1, mass) max|h|
//
// where eps is half the machine epsilon, n entries are weighted, mass is the
// sum of the reference's |weights| and
//
//   delta = eps ((sqrt(d)/2 + 8) max(1, largest |s|) max(1, largest |h|) +
//                6 sum |v| + 4 |r|)
//
// bounds the rounding of an energy with bias r, and v of additive ones (of
// energy.h, with its scale; 0 for others): an inner product of d terms
// errs by less than about eps sqrt(d) |s| |h| (Higham and Mary 2019, a bound
// that holds with high probability; the certain one, with d for sqrt(d), would
// let real mistakes pass). Where no entry is weighted, or one with weight 1,
// the bound is 0. A bound of half the largest |h| or more could tell nothing:
// that throws std::runtime_error. An energy that is off by delta changes a
// softmax weight by a factor within exp(2 delta), and 4 leaves room for
// energies that are more than one product deep. The second term is the weighted
// sum of n entries. Where scores are given, delta is 8 eps max(1, largest
// |score|).
//
// The first sequence of draw 0 is also decoded as an encoder makes its memory
// (on_demand.h), up to the output that asks for the end. Each output must be
// the reference's, and must have asked for as many entries (for all and the
// end, where the variant says `waits_for_end`). Beam search,
// teacher-forced decoding and a peer are not decoded so.
//
// Checks all outputs of draw 0 (of a mechanism that is not online, whose
// outputs each read the whole memory, as many as 2^33 multiply-adds of the
// reference make), and of every other draw the first outputs: as many as an
// equal share of 2^27 has, at least one. Throws what the mechanism and the
// workload throw.
//
// With a `peer`, the peer decodes, all sequences of a draw at once. Its
// positions and contexts are compared; what else a step tells, and bits, are
// its own business.
template <class Real>
GateResult CheckAgainstReference(const Mechanism<Real>& mechanism,
                                 const Config& config, int threads,
                                 Workload<Real>& workload,
                                 PeerCell<Real>* peer = nullptr);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MEASURE_DECODE_GATE_H_
