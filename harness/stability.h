// How wrong are the published ways to compute the training expectations, and
// their gradients? Every variant against the exact one in f64, on the same
// numbers, over the length of the memory, the outputs chained, and the
// sharpness of p; and where mass goes, output by output.
//
// A figure that is not finite is null, and counted: a NaN is no error of any
// size, and the largest of numbers with a NaN among them is not known.
// Everything is a function of the seed: threads change nothing.
#ifndef ATTNBENCH_HARNESS_STABILITY_H_
#define ATTNBENCH_HARNESS_STABILITY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "harness/axes.h"
#include "harness/stability_inputs.h"

namespace attnbench {

struct StabilityRequest {
  bool quick = false;  // fewer lengths, draws and families
  std::uint64_t seed = 1;
  // After each point, from one thread at a time; may be empty.
  std::function<void(std::size_t done, std::size_t total)> on_progress = {};
};

// The arrays of a result of kind "stability" (the schema is in results/schema):
//   rows       errors of attention and selection, a variant and precision each
//   ledger     where the mass of each output went
//   gradients  errors and sizes of dL/d scores, L = <cotangent, attention>
//   peers      figures that others report, beside ours
//   limits     what was not measured, for its cost
Json MeasureStability(const StabilityRequest& request);
// The whole document.
Json StabilityDocument(const StabilityRequest& request, const Json& context);

// The parts of it, for one setting of the inputs. Errors are the largest over
// `draws` draws; rounded to four digits.
std::vector<Json> MeasureStabilityRows(const StabilityPoint& point,
                                       std::uint64_t seed, int draws);
// The same of scores that are there already.
std::vector<Json> MeasureStabilityScores(const StabilityPoint& point,
                                         const StabilityScores& scores);
std::vector<Json> MeasureStabilityGradients(const StabilityPoint& point,
                                            std::uint64_t seed);
// Of mechanisms that choose; draw 0, end policy `absorb`.
std::vector<Json> MeasureStabilityLedger(const StabilityPoint& point,
                                         std::uint64_t seed);

// `value` to four digits; null where it is not finite.
Json StabilityNumber(double value);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STABILITY_H_
