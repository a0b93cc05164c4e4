// The clock, and one epoch of timing. Google Benchmark runs the loop (it keeps
// the compiler and the loop's own cost out of the figure); rounds, order and
// statistics are ours.
#ifndef ATTNBENCH_HARNESS_MACHINE_CLOCK_H_
#define ATTNBENCH_HARNESS_MACHINE_CLOCK_H_

#include <functional>

#include "mechanisms/common/array.h"

namespace attnbench {

// The smallest step of the steady clock, measured once.
double ClockResolutionNs();

// Measures the wall-clock time of `trials` >= 1 calls of trial(), divided by
// their number. An exception of trial() passes through. Prints nothing. Not
// thread-safe: Google Benchmark's list of benchmarks is global.
double TimeTrialsNs(Index trials, const std::function<void()>& trial);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_CLOCK_H_
