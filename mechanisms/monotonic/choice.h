// Says when an entry is chosen: z(i, j) of MAD eq 8 and its test-time form.
#ifndef ATTNBENCH_MECHANISMS_MONOTONIC_CHOICE_H_
#define ATTNBENCH_MECHANISMS_MONOTONIC_CHOICE_H_

#include <cmath>

#include "mechanisms/common/philox.h"
#include "mechanisms/mechanism.h"

namespace attnbench {

// Decides on e or on p, whichever the energy gives. By default p >= threshold
// (MoChA algorithm 1), with `strict` p > threshold (MAD 2.5). Energies are
// compared with logit(threshold), so that no sigmoid is evaluated and no p is
// rounded. With `sample` z is Bernoulli(p), from Philox keyed by (i, j): the
// same draw however the scan got there.
template <class Real>
class Choice {
 public:
  Choice(const Config& config, const SequenceInputs<Real>& inputs,
         bool of_probabilities)
      : of_probabilities_(of_probabilities),
        cut_(Cut(config.Option<double>("threshold"), of_probabilities)),
        strict_(config.Option<bool>("strict")),
        sample_(config.Option<bool>("sample")),
        seed_(inputs.seed),
        stream_(inputs.stream) {}

  // z(i, j) for the value at output i and entry j.
  bool operator()(Real value, Index i, Index j) const {
    if (sample_) return Draw(static_cast<double>(value), i, j);
    return strict_ ? value > cut_ : value >= cut_;
  }

 private:
  static Real Cut(double threshold, bool of_probabilities) {
    return static_cast<Real>(
        of_probabilities ? threshold : std::log(threshold / (1 - threshold)));
  }
  bool Draw(double value, Index i, Index j) const {
    const double p = of_probabilities_ ? value : 1 / (1 + std::exp(-value));
    const auto words = Philox(
        seed_, kBernoulliPurpose, stream_,
        (static_cast<std::uint64_t>(i) << 32) ^ static_cast<std::uint64_t>(j));
    return Uniform53(words[0], words[1]) < p;
  }

  const bool of_probabilities_;
  const Real cut_;
  const bool strict_;
  const bool sample_;
  const std::uint64_t seed_;
  const std::uint32_t stream_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_MONOTONIC_CHOICE_H_
