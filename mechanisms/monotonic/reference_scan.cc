#include "mechanisms/monotonic/reference_scan.h"

#include <algorithm>
#include <cmath>

#include "mechanisms/common/philox.h"

namespace attnbench {

template <class Real>
ReferenceScan<Real>::ReferenceScan(const Config& config,
                                   const SequenceInputs<Real>& inputs)
    : config_(config),
      inputs_(inputs),
      a_(config, inputs, EnergyRole::kAttention) {}

template <class Real>
typename ReferenceScan<Real>::Outcome ReferenceScan<Real>::Next(
    const ReferenceMemory<Real>& memory, std::span<const Real> s) {
  if (!resuming_) {
    ++i_;
    last_t_ = t_;
    j_ = last_t_;
    inspected_ = 0;
  }
  const Index T = memory.T();
  if (absorbed_) return Outcome::kNone;
  for (; j_ < T; ++j_) {
    const bool unseen_last = config_.end == EndPolicy::kStayLast && j_ == T - 1;
    resuming_ = unseen_last && !memory.closed;
    if (resuming_) return Outcome::kNeedMemory;
    bool z = true;
    if (!unseen_last) {
      ++inspected_;
      z = Chooses(a_(i_, j_, s, memory.h[Size(j_)]), j_);
    }
    if (z) {
      t_ = j_;
      return Outcome::kChosen;
    }
  }
  resuming_ = !memory.closed;
  if (resuming_) return Outcome::kNeedMemory;
  absorbed_ = config_.end == EndPolicy::kAbsorb;
  return Outcome::kNone;
}

template <class Real>
bool ReferenceScan<Real>::Chooses(const BoundedEnergy<Real>& e, Index j) const {
  if (config_.Option<bool>("sample")) return Sample(e, j);
  const double threshold = config_.Option<double>("threshold");
  // It is in Real, as scores are: one that equals the threshold is a tie.
  const Wider<Real> cut = static_cast<Real>(
      a_.gives_probabilities() ? threshold
                               : std::log(threshold / (1 - threshold)));
  if (Size(i_) < follow_.size() && e.rounding > 0 &&
      std::abs(e.value - cut) <= e.rounding) {
    return follow_[Size(i_)] == j;
  }
  return config_.Option<bool>("strict") ? e.value > cut : e.value >= cut;
}

// z ~ Bernoulli(p), MAD eq 8, with the one uniform number that belongs to
// (i, j).
template <class Real>
bool ReferenceScan<Real>::Sample(const BoundedEnergy<Real>& e, Index j) const {
  const Wider<Real> p =
      a_.gives_probabilities() ? e.value : 1 / (1 + std::exp(-e.value));
  const auto words = Philox(
      inputs_.seed, kBernoulliPurpose, inputs_.stream,
      (static_cast<std::uint64_t>(i_) << 32) ^ static_cast<std::uint64_t>(j));
  const Wider<Real> u = Uniform53(words[0], words[1]);
  // The sigmoid has slope at most 1/4.
  if (Size(i_) < follow_.size() && e.rounding > 0 &&
      std::abs(u - p) <= e.rounding / 4) {
    return follow_[Size(i_)] == j;
  }
  return u < p;
}

template <class Real>
StepResult<Real> HardReference<Real>::Step(std::span<const Real> s,
                                           std::span<Real> c) {
  using Outcome = typename ReferenceScan<Real>::Outcome;
  const Outcome outcome = scan_.Next(memory_, s);
  if (outcome == Outcome::kNeedMemory) return {.need_memory = true};
  if (outcome == Outcome::kNone) {
    std::fill(c.begin(), c.end(), Real{0});
    return {.inspected = scan_.inspected()};
  }
  const Index v = Attend(s, c);
  return {.position = scan_.t(),
          .begin = v,
          .end = scan_.t() + 1,
          .inspected = scan_.inspected(),
          .weights = weights_};
}

template class ReferenceScan<float>;
template class ReferenceScan<double>;
template class HardReference<float>;
template class HardReference<double>;

}  // namespace attnbench
