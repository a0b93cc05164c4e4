// Splits the gap between training and decoding. Each output i of a decoder has
// one distribution of its entry and one of its output y in each process of a
// chain; TV(a, b) = sum over outcomes of |a - b| / 2. E is over noise or paths,
// MF over alpha, and s, c are the state and context of output i:
//
//       entries                        outputs
//   0   E alpha with noise             E p(y | s, c), MF with noise
//   1   alpha                          p(y | s, c), MF
//   2   P(t(i)) of sampled paths       p(y | E s, E c), sampled paths
//   3                                  E p(y | s, c), sampled paths
//   4   the threshold's entry          p(y | s, c), threshold
//
//   removed_noise  TV(0, 1)
//   mean_field     TV(1, 2): states of expected contexts for those of sampled
//                  ones. 0 without feedback
//   sampling       TV(2, 3): the loss sees p(y | mean context), decoding has
//                  the mean of p(y | context). Not 0 without feedback
//   threshold      TV(2, 4) of entries, which is large wherever p is neither 0
//                  nor 1, and TV(3, 4) of outputs
//   total          TV(0, 4)
//   lattice        TV(lattice.h, 2) of entries, TV(lattice.h, 3) of outputs
//
// Parts do not add up: by the triangle inequality the total is at most their
// sum, and no part is more than the total and the other parts together.
//
// Means over random decoders have intervals of random decoders, those that were
// not drawn included: of the variance between the decoders, with Student's t.
// The sampling error within each decoder is a part of that variance.
//
// A TV of samples is too large, by at most its floor, so intervals reach down
// by the floor, too: the TV that sampling error alone gives. The paths of a
// decoder stand in kGapBatches batches, and the floor is a quarter of the sum
// of |difference in one half of the paths - that in the other|, over four ways
// to halve the batches. Both halves have half the paths, so their difference
// has twice the error. A TV near its floor shows no gap.
#ifndef ATTNBENCH_HARNESS_GAP_GAP_H_
#define ATTNBENCH_HARNESS_GAP_GAP_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/gap/closed_loop.h"
#include "harness/gap/result.h"

namespace attnbench {

inline constexpr int kGapBatches = 16;  // 2 to the power of the ways to halve
// So many paths stand beside one draw of the noise, which takes as long as
// several of them and has the distribution of an entry where a path has one.
inline constexpr int kPathsOfNoise = 8;

// The distributions of the chain, up to sampling error, and the lattice's.
struct GapChain {
  Marginals with_noise, expectation, at_mean_context, sampled, threshold,
      lattice;
};

// Calls visit(part of a, part of b, ...) for every part.
template <class Visit, class... Of>
void ForEachPart(const Visit& visit, Of&&... of) {
  const auto visit_all = [&](auto&... parts) {
    visit(parts.removed_noise...);
    visit(parts.mean_field...);
    visit(parts.threshold...);
    visit(parts.total...);
    visit(parts.lattice...);
  };
  visit_all(of.entries...);
  visit_all(of.outputs...);
  visit(of.outputs.sampling...);
}

// The TV of each output, and of all outputs the mean [U + 1].
OfParts<std::vector<double>> VariationsOf(const GapChain& chain);

// A part of a decoder's gap, of each output and of all the mean [U + 1].
struct MeasuredPart {
  std::vector<double> value, floor;
};

struct DecoderGap {
  GapChain chain;
  double kept_mass = 1;
  OfParts<MeasuredPart> parts;
};

// Measures one decoder, on as many threads; paths are rounded up to whole
// batches, and `states` to at least 1.
DecoderGap MeasureDecoderGap(const ClosedLoop& loop,
                             const GapSettings& settings, std::uint64_t seed,
                             int threads);

// A lattice that keeps less mass says little of the sampled process.
inline constexpr double kLeastKeptMass = 0.9;

// Throws UserError if a lattice of so many states keeps less than that; `what`
// says of what it is.
void CheckKeptMass(double kept_mass, std::int64_t states,
                   const std::string& what);

// `value` of samples, with the interval that the header describes, rounded to
// five digits.
GapEstimate EstimateAround(double value, double floor, double half_width);

// The seed of a random decoder, the same at all sharpness and feedback, or of
// what is drawn for a sequence.
std::uint64_t GapSeed(std::uint64_t seed, std::int64_t number);

struct GapRequest {
  std::vector<double> sharpness = {1, 4, 16};
  std::vector<double> feedback = {0, 0.3, 1};
  GapSettings settings = {};
  std::uint64_t seed = 1;
  // Called after each decoder of a point; may be empty.
  std::function<void(std::size_t done, std::size_t total)> on_progress = {};
};

// The result, without its context. There are at least 2 decoders. Throws
// UserError if a lattice keeps less mass than it must.
GapResult MeasureGap(const GapRequest& request);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_GAP_GAP_H_
