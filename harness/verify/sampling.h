// Estimates the expectation by trials of the sampled process: counts of choices
// and of pairs of successive choices, means of attention and contexts, and
// gradients by the score-function estimator (Williams 1992), all only from what
// was decoded.
#ifndef ATTNBENCH_HARNESS_VERIFY_SAMPLING_H_
#define ATTNBENCH_HARNESS_VERIFY_SAMPLING_H_

#include "harness/verify/report.h"
#include "harness/verify/subject.h"

namespace attnbench {

// Compares `trained` with trials 0 .. trials - 1 (at least 2) of the subject.
// It uses one thread and one order, so sums are bit-identical in every run.
// Pairs are counted up to kMostEntriesOfPairs entries, as their expectation
// takes U T calls of Expect.
inline constexpr Index kMostEntriesOfPairs = 8;
ChiSquare CompareWithTrials(VerifySubject& subject, const Trained& trained,
                            std::int64_t trials,
                            std::vector<Quantity>& quantities);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_VERIFY_SAMPLING_H_
