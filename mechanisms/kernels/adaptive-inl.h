// MAtChA's pairs inside short blocks (MoChA eq 28), a block in each lane: every
// step of the recurrences is the same in all blocks. Lanes are f64 whatever the
// precision of the arrays, as in the scan.
// clang-format off
#if defined(ATTNBENCH_MECHANISMS_KERNELS_ADAPTIVE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNBENCH_MECHANISMS_KERNELS_ADAPTIVE_INL_H_
#undef ATTNBENCH_MECHANISMS_KERNELS_ADAPTIVE_INL_H_
#else
#define ATTNBENCH_MECHANISMS_KERNELS_ADAPTIVE_INL_H_
#endif
// clang-format on

#include <algorithm>

#include "mechanisms/kernels/kernels.h"
#include "mechanisms/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnbench::HWY_NAMESPACE {
namespace {

constexpr Index kBlock = kAdaptiveBlock;

// Entry i of block b of an array is at i N + b.
using BlockLanes = hn::ScalableTag<double>;
constexpr Index kBlockNumbers = kBlock * Index{hn::MaxLanes(BlockLanes())};

// Takes up to N blocks of an array; entries from `count` on are `fill`.
template <class Real>
void LoadBlocks(const Real* from, Index count, double fill, double* blocks) {
  const Index lanes = LanesOf(BlockLanes());
  for (Index b = 0; b < lanes; ++b) {
    const Index first = b * kBlock;
    const Index size = std::clamp(count - first, Index{0}, kBlock);
    for (Index i = 0; i < size; ++i) {
      blocks[i * lanes + b] = static_cast<double>(from[first + i]);
    }
    for (Index i = size; i < kBlock; ++i) blocks[i * lanes + b] = fill;
  }
}

template <class Real>
void AddBlocks(const double* blocks, Index count, Real* to) {
  const Index lanes = LanesOf(BlockLanes());
  for (Index k = 0; k < std::min(count, kBlock * lanes); ++k) {
    to[k] += static_cast<Real>(blocks[k % kBlock * lanes + k / kBlock]);
  }
}

template <class Real>
void AdaptiveBlocks(const Real* e, const Real* start, const Real* p,
                    const double* passed, Index count, Real* beta) {
  const BlockLanes d;
  const Index lanes = LanesOf(d);
  HWY_ALIGN double e_lanes[kBlockNumbers], start_lanes[kBlockNumbers],
      p_lanes[kBlockNumbers], passed_lanes[kBlockNumbers], G[kBlockNumbers],
      beta_lanes[kBlockNumbers];
  for (Index first = 0; first < count; first += kBlock * lanes) {
    const Index left = count - first;
    LoadBlocks(e + first, left, 1, e_lanes);
    LoadBlocks(start + first, left, 0, start_lanes);
    LoadBlocks(p + first, left, 0, p_lanes);
    LoadBlocks(passed + first, left, 0, passed_lanes);
    std::fill_n(beta_lanes, kBlockNumbers, 0.0);
    for (Index k = 0; k < kBlock; ++k) {
      auto mass = hn::Load(d, start_lanes + k * lanes);
      if (hn::AllTrue(d, hn::Eq(mass, hn::Zero(d)))) continue;
      auto sum = hn::Zero(d);
      for (Index l = k; l < kBlock; ++l) {
        sum = hn::Add(sum, hn::Load(d, e_lanes + l * lanes));
        hn::Store(hn::Div(hn::Mul(mass, hn::Load(d, p_lanes + l * lanes)), sum),
                  d, G + l * lanes);
        mass = hn::Mul(mass, hn::Load(d, passed_lanes + l * lanes));
      }
      auto after = hn::Zero(d);
      for (Index l = kBlock; l-- > k;) {
        after = hn::Add(after, hn::Load(d, G + l * lanes));
        double* const at = beta_lanes + l * lanes;
        hn::Store(hn::Add(hn::Load(d, at), after), d, at);
      }
    }
    AddBlocks(beta_lanes, left, beta + first);
  }
}

template <class Real>
void AdaptiveBlocksBackward(const Real* e, const Real* weighted,
                            const Real* start, const Real* p,
                            const double* passed, Index count, Real* d_e,
                            Real* d_weighted, Real* d_start, Real* d_p) {
  const BlockLanes d;
  const Index lanes = LanesOf(d);
  HWY_ALIGN double e_lanes[kBlockNumbers], w_lanes[kBlockNumbers],
      start_lanes[kBlockNumbers], p_lanes[kBlockNumbers],
      passed_lanes[kBlockNumbers], mean_lanes[kBlockNumbers],
      arrived_lanes[kBlockNumbers], G[kBlockNumbers], d_e_lanes[kBlockNumbers],
      d_w_lanes[kBlockNumbers], d_start_lanes[kBlockNumbers],
      d_p_lanes[kBlockNumbers];
  const auto one = hn::Set(d, 1.0);
  for (Index first = 0; first < count; first += kBlock * lanes) {
    const Index left = count - first;
    LoadBlocks(e + first, left, 1, e_lanes);
    LoadBlocks(weighted + first, left, 0, w_lanes);
    LoadBlocks(start + first, left, 0, start_lanes);
    LoadBlocks(p + first, left, 0, p_lanes);
    LoadBlocks(passed + first, left, 0, passed_lanes);
    for (double* out : {d_e_lanes, d_w_lanes, d_start_lanes, d_p_lanes}) {
      std::fill_n(out, kBlockNumbers, 0.0);
    }
    for (Index k = kBlock; k-- > 0;) {
      auto mass = hn::Load(d, start_lanes + k * lanes);
      auto sum = hn::Zero(d), weighted_sum = hn::Zero(d);
      for (Index l = k; l < kBlock; ++l) {
        const Index at = l * lanes;
        sum = hn::Add(sum, hn::Load(d, e_lanes + at));
        weighted_sum = hn::Add(weighted_sum, hn::Load(d, w_lanes + at));
        const auto r = hn::Div(one, sum);
        hn::Store(hn::Mul(weighted_sum, r), d, mean_lanes + at);
        hn::Store(mass, d, arrived_lanes + at);
        hn::Store(hn::Mul(hn::Mul(mass, hn::Load(d, p_lanes + at)), r), d,
                  G + at);
        mass = hn::Mul(mass, hn::Load(d, passed_lanes + at));
      }
      auto value = hn::Zero(d);  // of a scan from k that has passed l
      auto chosen = hn::Zero(d), chosen_mean = hn::Zero(d);
      for (Index l = kBlock; l-- > k;) {
        const Index at = l * lanes;
        const auto mean = hn::Load(d, mean_lanes + at), g = hn::Load(d, G + at);
        const auto add = [&](double* to, auto x) HWY_ATTR {
          hn::Store(hn::Add(hn::Load(d, to + at), x), d, to + at);
        };
        add(d_p_lanes,
            hn::Mul(hn::Load(d, arrived_lanes + at), hn::Sub(mean, value)));
        value = hn::MulAdd(hn::Load(d, p_lanes + at), mean,
                           hn::Mul(hn::Load(d, passed_lanes + at), value));
        chosen = hn::Add(chosen, g);
        chosen_mean = hn::MulAdd(g, mean, chosen_mean);
        add(d_w_lanes, chosen);
        add(d_e_lanes, hn::Neg(chosen_mean));
      }
      hn::Store(value, d, d_start_lanes + k * lanes);
    }
    AddBlocks(d_e_lanes, left, d_e + first);
    AddBlocks(d_w_lanes, left, d_weighted + first);
    AddBlocks(d_start_lanes, left, d_start + first);
    AddBlocks(d_p_lanes, left, d_p + first);
  }
}

}  // namespace
}  // namespace attnbench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
