// How wrong are the published ways to compute the training expectations, and
// their gradients? This compares every variant with the exact one in f64, on
// the same numbers, over the length of the memory, the number of chained
// outputs and the sharpness of p, and follows the mass from output to output.
//
// A figure that is not finite is null, and counted: a NaN is no error of any
// size, and numbers with a NaN among them have no largest one. Everything is a
// function of the seed: threads change nothing.
#ifndef ATTNBENCH_HARNESS_STABILITY_STABILITY_H_
#define ATTNBENCH_HARNESS_STABILITY_STABILITY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "harness/stability/inputs.h"
#include "harness/stability/result.h"

namespace attnbench {

struct StabilityRequest {
  bool quick = false;  // fewer lengths, draws and families
  std::uint64_t seed = 1;
  // Called after each point, by one thread at a time; may be empty.
  std::function<void(std::size_t done, std::size_t total)> on_progress = {};
};

// The result, without its context.
StabilityResult MeasureStability(const StabilityRequest& request);

// Measures the parts of the result for one setting of the inputs. Errors are
// the largest over `draws` draws, rounded to four digits.
std::vector<StabilityRow> MeasureStabilityRows(const StabilityPoint& point,
                                               std::uint64_t seed, int draws);
std::vector<StabilityGradient> MeasureStabilityGradients(
    const StabilityPoint& point, std::uint64_t seed);
// The ledger is for mechanisms that choose: draw 0, end policy `absorb`.
std::vector<StabilityLedger> MeasureStabilityLedger(const StabilityPoint& point,
                                                    std::uint64_t seed);
// What alpha loses over the first 256, 512, 1024 and 2048 entries of a point
// with a memory of 2048, the largest over `draws` draws.
std::vector<StabilityLoss> MeasureStabilityLosses(const StabilityPoint& point,
                                                  std::uint64_t seed,
                                                  int draws);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_STABILITY_STABILITY_H_
