// Tells how fast this machine can be at all, and how near to that a cell came.
//
// The machine is measured, not looked up: the flops of independent fused
// multiply-adds, and the bytes that a sum reads or a copy reads and writes in
// each level of its memory, on as many threads at once as a cell has, each with
// arrays of its own. A limit is a maximum, so it is the best of several rounds;
// what disturbs a round only makes it slower. Its interval is Student's of the
// mean of the rounds' logarithms, up to the best: what disturbed the rounds
// will have disturbed the cells, too.
//
// The limit of a cell is the longer of two times: its flops at the machine's
// peak, and its bytes at the bandwidth of the level that holds what a thread
// touches (working_set.h). Operations are exact counts, so a fraction has no
// noise but that of the times. It can exceed 1: by noise, or if an algorithm
// keeps what it reads again in a nearer level than the one that holds
// everything.
#ifndef ATTNBENCH_HARNESS_MACHINE_ROOFLINE_H_
#define ATTNBENCH_HARNESS_MACHINE_ROOFLINE_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/document.h"
#include "harness/base/precision.h"
#include "harness/machine/interval_form.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

// A rate; several are one a round.
inline const Rule kRate{.exclusive_minimum = 0, .min_items = 1};

// Results from before this member lack it.
inline const Rule kMayBeAbsent{.may_be_absent = true};

// A level of the memory. Its bandwidths are of all threads together.
struct LevelLimits {
  std::string name;                 // "L1", "L2" ... or "DRAM"
  std::optional<Index> size_bytes;  // a thread's share; none for DRAM
  Index array_bytes = 0;            // the size of what a thread went through
  double read_bytes_per_s = 0;
  double copy_bytes_per_s = 0;  // bytes read and bytes written
  // Nothing in a result from before these members, or where there was a single
  // round.
  std::optional<Interval> read_interval_bytes_per_s, copy_interval_bytes_per_s;
  std::vector<double> read_samples;  // of every round, in bytes/s
  std::vector<double> copy_samples;

  static void Fields(auto& self, auto& visit) {
    visit("name", self.name, Rule{.pattern = "^(L[1-9]|DRAM)$"});
    visit("size_bytes", self.size_bytes, kAtLeastZero);
    visit("array_bytes", self.array_bytes, kAtLeastZero);
    visit("read_bytes_per_s", self.read_bytes_per_s, kAboveZero);
    visit("copy_bytes_per_s", self.copy_bytes_per_s, kAboveZero);
    visit("read_interval_bytes_per_s", self.read_interval_bytes_per_s,
          kMayBeAbsent);
    visit("copy_interval_bytes_per_s", self.copy_interval_bytes_per_s,
          kMayBeAbsent);
    visit("read_samples", self.read_samples, kRate);
    visit("copy_samples", self.copy_samples, kRate);
  }
};

struct MachineLimits {
  Precision precision = Precision::kF32;
  int threads = 1;
  double peak_flops_per_s = 0;  // of all threads together
  std::optional<Interval> peak_interval_flops_per_s = {};
  std::vector<double> peak_samples = {};  // of every round
  // The levels, nearest first. A level that the machine does not tell or has no
  // memory for is missing, and so is a cache of which a thread has no more than
  // of a nearer one.
  std::vector<LevelLimits> levels = {};

  static void Fields(auto& self, auto& visit) {
    visit("precision", self.precision);
    visit("threads", self.threads, kAtLeastOne);
    visit("peak_flops_per_s", self.peak_flops_per_s, kAboveZero);
    visit("peak_interval_flops_per_s", self.peak_interval_flops_per_s,
          kMayBeAbsent);
    visit("peak_samples", self.peak_samples, kRate);
    visit("levels", self.levels);
  }
};

// The interval of a rate (see above), given at least one round of it; nothing
// for one round.
std::optional<Interval> RateInterval(const std::vector<double>& samples);

struct RooflineOptions {
  int rounds = 20;
  double sample_ns = 5e6;  // a sample lasts about this long, and at least one
                           // pass over its arrays
};

// These settings are short, for the start of a sweep.
inline constexpr RooflineOptions kQuickRoofline = {.rounds = 7,
                                                   .sample_ns = 1e6};

// Measures the limits. Throws std::bad_alloc if not even the caches' arrays
// fit.
MachineLimits MeasureLimits(Precision precision, int threads,
                            const RooflineOptions& options);

struct Binding {
  std::string bound;  // "compute", or the name of a level
  double limit_ns = 0;
  std::optional<Interval> interval_ns = {};  // of limit_ns
};

// Finds the limit that binds `operations`, with `working_set_bytes` a thread.
// Mode decode is held to read bandwidths; expect and gradient, which write
// tables as large as those they read, to copy bandwidths. A working set that
// just fits a level is in it. Gives nothing if no level holds it.
std::optional<Binding> BindingLimit(const MachineLimits& limits,
                                    const Operations& operations,
                                    Index working_set_bytes, Mode mode);

// Everything that a cell's limit depends on.
struct CellFacts {
  Precision precision = Precision::kF32;
  int threads = 1;
  Mode mode = Mode::kDecode;
  Operations operations;
  Index working_set_bytes = 0;
  double median_ns = 0;
  std::optional<Interval> interval_ns = {};  // of the median
};

// The field `limit` of a cell.
struct CellLimit {
  std::string bound;
  double limit_ns = 0;
  std::optional<Interval> limit_interval_ns = {};
  double fraction = 0;  // limit_ns over the cell's median
  std::optional<Interval> fraction_interval = {};
  Index working_set_bytes = 0;

  static void Fields(auto& self, auto& visit) {
    visit("bound", self.bound, Rule{.pattern = "^(compute|L[1-9]|DRAM)$"});
    visit("limit_ns", self.limit_ns, kAtLeastZero);
    visit("limit_interval_ns", self.limit_interval_ns, kMayBeAbsent);
    visit("fraction", self.fraction, kAtLeastZero);
    visit("fraction_interval", self.fraction_interval, kMayBeAbsent);
    visit("working_set_bytes", self.working_set_bytes, kAtLeastZero);
  }
};

// Sets the fraction of a limit, and its interval where both times have one:
// their errors are independent, so their distances in logarithms add in
// quadrature.
void SetFraction(double median_ns, const std::optional<Interval>& interval_ns,
                 CellLimit& limit);

// Gives nothing if the cell's precision and threads were not measured, or
// nothing binds it.
std::optional<CellLimit> LimitOf(std::span<const MachineLimits> all,
                                 const CellFacts& facts);

// Appends to `limits` those of `more` that are for other precisions or numbers
// of threads.
void AddLimits(const std::vector<MachineLimits>& more,
               std::vector<MachineLimits>& limits);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_ROOFLINE_H_
