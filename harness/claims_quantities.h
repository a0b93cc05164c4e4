// The quantities of the ledger: from what a measurement gave to readings. Pure
// functions over result documents; what each kind is stands in
// results/schema/claims_ledger.schema.json.
#ifndef ATTNBENCH_HARNESS_CLAIMS_QUANTITIES_H_
#define ATTNBENCH_HARNESS_CLAIMS_QUANTITIES_H_

#include "harness/claims_document.h"
#include "harness/claims_ledger.h"

namespace attnbench {

// Times of a result that is not valid are read, and are nothing to judge by.
//
// The readings of a part, before ClaimPart::quantity's `reduce`, which is the
// judge's. `published` holds the tables of results/published, by their ids.
Readings ReadQuantity(const ClaimPart& part, const ClaimDocument& document,
                      const Json& published);

// The kinds, by file.

// claims_ratios.cc: time_ratio, rank_correlation, place_of_greatest,
// break_even, steps, whole_over_part, ratio_to_published. Intervals of ratios
// are over the rounds or processes that both cells share; those of
// rank_correlation, break_even, steps and whole_over_part are of FigureOf; that
// of place_of_greatest has the places of all that may be the greatest.
Readings ReadRatios(const ClaimPart& part, const ClaimDocument& document,
                    const Json& published);

// claims_growth.cc: count, exponent, fit, time_growth.
//
// exponent of time and coefficients of fit have the interval of a figure
// (FigureOf); the residual of fit has that of the distances which its times'
// intervals leave possible, the fitted line as it is; time_growth divides the
// ends of the two times' intervals, the preparation's taken off crosswise.
Readings ReadGrowth(const ClaimPart& part, const ClaimDocument& document);

// claims_rows.cc: verify, stability, computed, training.
Readings ReadRows(const ClaimPart& part, const ClaimDocument& document);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_CLAIMS_QUANTITIES_H_
