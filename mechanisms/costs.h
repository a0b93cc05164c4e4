// What is counted of a mechanism's work, and from what.
#ifndef ATTNBENCH_MECHANISMS_COSTS_H_
#define ATTNBENCH_MECHANISMS_COSTS_H_

#include <span>
#include <vector>

#include "mechanisms/common/array.h"

namespace attnbench {

// What a head of an output leaves behind, enough to count operations exactly.
struct StepTrace {
  Index position = -1;
  Index begin = 0;
  Index end = 0;
  Index inspected = 0;
  Index head = 0;  // the heads of an output follow one another
};

// Exact operations of one sequence, by the algorithm of variant `exact`, for
// `banded` on the energies that it evaluated. One
// multiplication, addition, comparison, exp or tanh is one flop; which terms a
// mechanism counts stands in its README.md.
struct Operations {
  double energies = 0;        // StepResult::inspected
  double chunk_energies = 0;  // evaluated over chunks
  double memory_rows = 0;     // rows of d numbers: keys, memory, contexts
  double flops = 0;
  double bytes = 0;  // read and written in rows of d or K numbers
};

// What variant `banded` evaluated and left out of one sequence, in training
// (monotonic/banded_selection.h).
struct BandReport {
  // [U], the certificate: the mass that was cut for the outputs up to each one.
  // It bounds the L1 error of that output's row of attention.
  std::vector<double> mass_cut;
  double energies = 0;        // that were evaluated, of the choice
  double chunk_energies = 0;  // and of chunks
  // No output evaluated an energy of the entries from this one on, which so
  // have no gradient.
  Index reach = 0;
  // The band became too wide: after these energies all were evaluated, and
  // nothing is cut.
  bool dense = false;
};

// What was done with one sequence, as far as Count must know it.
struct CountedWork {
  Index memory_length = 0;
  // One trace of each head of each output. In modes expect and gradient a step
  // stands for an output, and nothing else of it is read.
  std::span<const StepTrace> steps = {};
  bool scores_given = false;    // making them costs nothing
  bool attention_only = false;  // training ended at attention, without contexts
  const BandReport* band = nullptr;  // of variant `banded`, else null
};

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_COSTS_H_
