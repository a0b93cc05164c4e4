// Checks gradients by central differences, the only way if energies follow from
// states and parameters.
#ifndef ATTNBENCH_HARNESS_VERIFY_DIFFERENCES_H_
#define ATTNBENCH_HARNESS_VERIFY_DIFFERENCES_H_

#include <functional>

#include "harness/verify/report.h"
#include "harness/verify/subject.h"

namespace attnbench {

// Compares every gradient of `trained` with differences of `loss`, which gives
// L for the subject's current inputs: of the decoded output if nothing is
// random, else of what Expect makes, which other comparisons of the case check.
// This takes two calls for each number of the inputs.
void CompareWithDifferences(VerifySubject& subject, const Trained& trained,
                            const std::function<double()>& loss,
                            std::vector<Quantity>& quantities);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_VERIFY_DIFFERENCES_H_
