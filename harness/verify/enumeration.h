// Makes the expectation without randomness and without its formulas: if the
// decoder makes few choices, it is driven through every sequence of them, and
// its outputs are added up with the probability of the choices. Gradients are
// exact too: the sum is linear in every single p.
#ifndef ATTNBENCH_HARNESS_VERIFY_ENUMERATION_H_
#define ATTNBENCH_HARNESS_VERIFY_ENUMERATION_H_

#include <functional>

#include "harness/verify/report.h"
#include "harness/verify/subject.h"

namespace attnbench {

// Compares `trained` with all outcomes of the sampled process, up to rounding;
// gives their number. The subject knows its probabilities. O(outcomes) runs of
// the decoder, O(outcomes T) where there are chunk energies; a monotonic scan
// of T entries by U outputs has at most (T + 1)^U outcomes.
Index CompareWithOutcomes(VerifySubject& subject, const Trained& trained,
                          std::vector<Quantity>& quantities);

// Does the same if nothing is random: there is one outcome, and the gradients
// of all inputs are central differences of the decoded output.
void CompareWithDecoded(VerifySubject& subject, const Trained& trained,
                        std::vector<Quantity>& quantities);

// Compares every gradient of `trained` with central differences of `loss`, the
// only way if energies follow from states and parameters. `loss` gives L for
// the subject's current inputs: of the decoded output if nothing is random,
// else of what Expect makes, which other comparisons of the case check. This
// takes two calls for each number of the inputs.
void CompareWithDifferences(VerifySubject& subject, const Trained& trained,
                            const std::function<double()>& loss,
                            std::vector<Quantity>& quantities);

// Compares the expectation of Gradient with that of Expect.
void CompareBothModes(const Trained& trained,
                      std::vector<Quantity>& quantities);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_VERIFY_ENUMERATION_H_
