// Writes a sweep's result as Google Benchmark's JSON, for the tools that read
// it: its own compare.py, dashboards. Rounds are no longer paired there, and
// counts, numerics and limits have no place, so this is only for export and not
// a second format of results.
#ifndef ATTNBENCH_HARNESS_ANSWERS_GBENCH_H_
#define ATTNBENCH_HARNESS_ANSWERS_GBENCH_H_

#include "harness/results/sweep_result.h"

namespace attnbench {

// {"context", "benchmarks"} of the result. A
// cell's name is "soft/T=100/U=100/d=256/...", every axis that is not null,
// then the options: the same for the same cell of another result. Each sample
// of a cell is a repetition, real_time in ns; cpu_time repeats it, since a cell
// has wall time only and readers want both. Then mean, median, standard
// deviation and their ratio, as Google Benchmark makes them of two or more.
//
// A cell without times has error_occurred, error_message and no time at all.
// Google Benchmark itself writes 0 there, which readers take for the fastest;
// as run_type "aggregate" without a time unit compare.py leaves it out of pairs
// and of the geometric mean, and does not stumble.
Json ToGoogleBenchmark(const SweepResult& result);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_ANSWERS_GBENCH_H_
