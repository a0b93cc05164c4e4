// Gradients by central differences: what is left to compare them with where
// energies follow from states and parameters.
#ifndef ATTNBENCH_HARNESS_VERIFY_DIFFERENCES_H_
#define ATTNBENCH_HARNESS_VERIFY_DIFFERENCES_H_

#include <functional>

#include "harness/verify/report.h"
#include "harness/verify/subject.h"

namespace attnbench {

// Compares every gradient of `trained` with differences of `loss`, L of the
// subject with its inputs as they are when it is called: of what is decoded
// where nothing is random, else of what Expect makes, which other comparisons
// of the case are about. Two calls for each number of the inputs.
void CompareWithDifferences(VerifySubject& subject, const Trained& trained,
                            const std::function<double()>& loss,
                            std::vector<Quantity>& quantities);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_VERIFY_DIFFERENCES_H_
