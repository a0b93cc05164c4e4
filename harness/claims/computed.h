// Quantities of claims that are computed, not timed; each has the name and
// inputs that the ledger gives it. They are functions of seed and inputs alone,
// except cumprod_gradient_of_framework, which starts a Python and depends on
// what is installed there.
#ifndef ATTNBENCH_HARNESS_CLAIMS_COMPUTED_H_
#define ATTNBENCH_HARNESS_CLAIMS_COMPUTED_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/stats/statistics.h"
#include "harness/sweep/axes.h"

namespace attnbench {

// A number with its labels: {"labels", "value", "interval", "why"}; `value` is
// "inf" where it is infinite, null where there is none, and `why` then says
// why.
Json ComputedRow(const Json& labels, double value);
Json ComputedRow(const Json& labels, const Estimate& estimate);
Json MissingRow(const Json& labels, const std::string& why);

// The rows of a quantity. Throws UserError for a name or inputs that the
// program does not know.
using ComputedQuantity = std::vector<Json> (*)(const Json& inputs,
                                               std::uint64_t seed);
std::vector<Json> ComputeQuantity(const std::string& name, const Json& inputs,
                                  std::uint64_t seed);
// The names of all quantities.
std::vector<std::string> ComputedQuantityNames();

struct NamedQuantity {
  const char* name;
  ComputedQuantity compute;
};

// decoding.cc
//
// online_difference   contexts that differ in any bit when the entries arrive
//                     one at a time, over all draws of a workload
// online_lookahead    the most entries that were there beyond the chosen one
//                     when an output came, of outputs that chose one
// width_one_difference  numbers in which mocha with w = 1 and monotonic differ:
//                     positions, contexts, expectation, gradient of p; or the
//                     chunk energies that it evaluates
// closed_loop_gap     total variation between where the hard process chooses
//                     for the last output, when each state follows from the
//                     sampled contexts, s(i) = tanh(A s(i-1) + B c(i)), and
//                     alpha, when it follows from the expected ones. A and B
//                     have entries N(0, 4/d), which keeps energies at size 1
//                     to 2
std::span<const NamedQuantity> DecodingQuantities();

// closed_form.cc
//
// closed_form_error       of alpha by the closed form without clipping, against
//                         the exact one, p uniform between two bounds
// closed_form_not_finite  numbers of alpha that are not
// denominator_one_error   error of the second output, the first having chosen
//                         `start` (from 1), for p in {0, 1}
// cumprod_gradient_wrong  gradients of a cumulative product that are not the
//                         given ones, by dividing the product by each factor
//                         and by products of the other factors
// cumprod_gradient_of_framework   the same of PyTorch, where it is installed
// decay_linearity     R squared of ln prod(1 - p(n)) against the entry
// reach               the first entry past which less than half the mass goes
// reach_ratio         that of the last bias over that of the first
std::span<const NamedQuantity> ClosedFormQuantities();

// formulas.cc
//
// parameter_share     percent that layers add to those of a model
// position_encoding_asymmetry, _center, _slope  of L(k, s), eq 10 of Britz
// context_position_range  mean position of the last context less that of the
//                     first, over T, of scores N(0, 1)
// context_position_order  rank correlation of k and the mean position
std::span<const NamedQuantity> FormulaQuantities();

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CLAIMS_COMPUTED_H_
