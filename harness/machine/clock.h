// The clock, and one epoch of timing. Google Benchmark runs the loop (it keeps
// the compiler and the loop's own cost out of the figure); rounds, order and
// statistics are ours.
#ifndef ATTNBENCH_HARNESS_MACHINE_CLOCK_H_
#define ATTNBENCH_HARNESS_MACHINE_CLOCK_H_

#include <cstdint>
#include <functional>

#include "mechanisms/common/array.h"

namespace attnbench {

// A coarser clock cannot tell what is timed: the shortest probe
// (calibration.h) takes about twice as long.
inline constexpr double kCoarsestClockNs = 1000;

// The smallest step of the steady clock, measured once. Throws UserError if the
// clock goes back, or does not move.
double ClockResolutionNs();

// Throws UserError, naming the clock and its step, if nothing can be timed by
// it. Whatever times something asks before it begins.
void CheckClock();

// A duration by the steady clock as a time above 0: what is shorter than a step
// takes no more than that. Throws UserError if the clock went back.
double DurationNs(double elapsed_ns);

// How often the system has given a page to this process so far, which it clears
// first (minor page faults).
std::int64_t PageFaults();

// Measures the wall-clock time of `trials` >= 1 calls of trial(), divided by
// their number; above 0. An exception of trial() passes through, and UserError
// if the clock went back. Prints nothing. Not thread-safe: Google Benchmark's
// list of benchmarks is global.
double TimeTrialsNs(Index trials, const std::function<void()>& trial);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_CLOCK_H_
