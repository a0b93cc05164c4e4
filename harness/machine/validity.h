// Decides whether the times of a run, or of the several runs of a result, mean
// anything, and tells what disturbed them. Nothing else sets the validity of a
// context.
#ifndef ATTNBENCH_HARNESS_MACHINE_VALIDITY_H_
#define ATTNBENCH_HARNESS_MACHINE_VALIDITY_H_

#include <string>
#include <vector>

#include "harness/machine/context.h"

namespace attnbench {

// The circumstances that validity depends on and a context does not say.
struct Circumstances {
  bool is_optimised = true;
  bool is_sanitized = false;
  bool has_checks = false;  // ATTN_DCHECK inside timed loops
  int machine_cores = 1;    // not only those that this program may use
  // 512 with AVX-512, 256 with AVX2; 0 with neither, where nothing is known of
  // how OpenBLAS should choose.
  int vector_bits = 0;
};

// Other programs disturb when they keep more than this share of the machine's
// cores busy.
inline constexpr double kNoticeableLoad = 0.25;
// Beyond this share other programs take turns with what is timed. (A run that
// times nothing has no `load_end`.) Beside one thread of ours, a program with a
// thread per core gets two thirds of two cores, and a larger share of more.
inline constexpr double kIntolerableLoad = 0.6;

// Sets the validity (`valid`, `invalid_reasons`, `warnings`) of the context of
// one run from its other members and the circumstances. `valid` is true if and
// only if there is no reason against. Each text ends in what to do.
void SetValidity(const Circumstances& circumstances,
                 const std::vector<Calibration>& calibration, Context& context);

// Sets the validity of the context of a whole sweep, and its `load` and
// `load_end`, the worst of any run. Each run has been judged by itself, with
// its own load; drift and missing points are judged here, over the whole. So a
// merge or a resumed run neither loses what was wrong with a part, nor keeps
// what is no longer wrong. A text of every run is told once; other texts begin
// with the run's `file` or date. `missing` says which points are not there; it
// is empty if none are missing. `of_cells` are warnings that the cells give.
void SetValidityOfRuns(const std::string& missing,
                       const std::vector<std::string>& of_cells,
                       SweepContext& context);

// A few words on a whole result: "valid", "valid, 2 warnings", or
// "INVALID: ..." with the first reason and how many more there are.
std::string ValidityText(const Context& context);

// The same, and a line for each warning.
std::string ValidityLines(const Context& context);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_MACHINE_VALIDITY_H_
