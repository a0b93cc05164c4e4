// The lattice: an estimate of the closed loop without chance, which keeps one
// state for each entry that the last output may have chosen, with its mass,
//
//   m_i(l) = sum over k of m_{i-1}(k) G(k, l)         G by MAD eq 9 from s(k)
//   S_i(l) = sum over k of m_{i-1}(k) G(k, l) s(k) / m_i(l)
//
// where s(k), the state of output i after entry k, follows from S_{i-1}(k) and
// h_k: S_i(l) = E[s_i | t(i) = l], if s(k) is right. The outputs' distribution
// is the sum over k and l of m_{i-1}(k) G(k, l) p(y | s(k), h_l). One state
// more stands for outputs that choose none.
//
// It is exact where a state does not depend on the state before (recurrence 0),
// as all paths with t(i-1) = k then have one state. It costs O(U N T) and
// as many evaluations of p(y). Hard attention in sequence transduction by Wu
// and Cotterell (2019), "Exact Hard Monotonic Attention for Character-Level
// Transduction", is related: their outputs do not feed contexts back, so their
// sum over alignments is exact, with one state for each output.
#ifndef ATTNBENCH_HARNESS_GAP_LATTICE_H_
#define ATTNBENCH_HARNESS_GAP_LATTICE_H_

#include "harness/gap/processes.h"

namespace attnbench {

struct Lattice {
  Marginals marginals;   // rows add up to the mass that is kept
  double kept_mass = 1;  // of the last output, before its own cut
};

// Keeps, after each output, the `states` states that have the most mass, and
// gives up the mass of the others.
Lattice MakeLattice(const ClosedLoop& loop, Index states);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_GAP_LATTICE_H_
