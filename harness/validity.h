// Whether the times of a run mean anything, and what disturbed them: one
// function decides, from what the run's context says. What several runs have
// measured is judged by runs.h, with this.
#ifndef ATTNBENCH_HARNESS_VALIDITY_H_
#define ATTNBENCH_HARNESS_VALIDITY_H_

#include <string>
#include <vector>

#include "harness/axes.h"

namespace attnbench {

// What a context does not say of the program and the machine.
struct Circumstances {
  bool is_optimised = true;
  bool is_sanitized = false;
  bool has_checks = false;  // ATTN_DCHECK inside timed loops
  int machine_cores = 1;    // not only those that this program may use
};

// Beyond this share of the machine's cores, kept busy by other programs, they
// disturb.
inline constexpr double kNoticeableLoad = 0.25;
// Beyond this they take turns with what is timed, where something is: a context
// that was not finished (FinishContext) is of a run that times nothing. Who
// wants as many cores as there are has two thirds of two, and more of more,
// beside one thread of ours.
inline constexpr double kIntolerableLoad = 0.6;

// Sets `valid`, `invalid_reasons` and `warnings` of a context from its other
// fields (dirty, governor, turbo, load, load_end, calibration, of which any may
// be missing) and the circumstances. `valid` is true exactly where there is no
// reason against. Each text ends in what to do.
void Judge(const Circumstances& circumstances, Json& context);

// Its part for the list `context.calibration`: appends to either what there is
// to say.
void JudgeDrift(const Json& calibration, std::vector<std::string>& reasons,
                std::vector<std::string>& warnings);

// For the line that tells of a whole result: "valid", "valid, 2 warnings", or
// "INVALID: ..." with the first reason and how many more there are.
std::string ValidityText(const Json& context);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_VALIDITY_H_
