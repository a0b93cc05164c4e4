#include "mechanisms/kernels/limits.h"

#include <cstring>

#include "mechanisms/kernels/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mechanisms/kernels/limits.cc"
// foreach_target.h must come before highway.h.
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace attnbench::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Index = std::int64_t;

// An addition takes up to 4 cycles and 2 begin in each: 8 sums keep the loads,
// of which no core does more than 3 a cycle, from waiting.
template <class Real>
Real Read(const Real* x, Index count) {
  const hn::ScalableTag<Real> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  auto sum2 = hn::Zero(d);
  auto sum3 = hn::Zero(d);
  auto sum4 = hn::Zero(d);
  auto sum5 = hn::Zero(d);
  auto sum6 = hn::Zero(d);
  auto sum7 = hn::Zero(d);
  Index k = 0;
  for (; k + 8 * lanes <= count; k += 8 * lanes) {
    const Real* from = x + k;
    sum0 = hn::Add(sum0, hn::LoadU(d, from));
    sum1 = hn::Add(sum1, hn::LoadU(d, from + lanes));
    sum2 = hn::Add(sum2, hn::LoadU(d, from + 2 * lanes));
    sum3 = hn::Add(sum3, hn::LoadU(d, from + 3 * lanes));
    sum4 = hn::Add(sum4, hn::LoadU(d, from + 4 * lanes));
    sum5 = hn::Add(sum5, hn::LoadU(d, from + 5 * lanes));
    sum6 = hn::Add(sum6, hn::LoadU(d, from + 6 * lanes));
    sum7 = hn::Add(sum7, hn::LoadU(d, from + 7 * lanes));
  }
  for (; k + lanes <= count; k += lanes) {
    sum0 = hn::Add(sum0, hn::LoadU(d, x + k));
  }
  sum0 = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
  sum4 = hn::Add(hn::Add(sum4, sum5), hn::Add(sum6, sum7));
  Real sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum4)));
  for (; k < count; ++k) sum += x[k];
  return sum;
}

template <class Real>
void Copy(const Real* HWY_RESTRICT from, Index count, Real* HWY_RESTRICT to) {
  const hn::ScalableTag<Real> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Index k = 0;
  for (; k + 4 * lanes <= count; k += 4 * lanes) {
    const auto x0 = hn::LoadU(d, from + k);
    const auto x1 = hn::LoadU(d, from + k + lanes);
    const auto x2 = hn::LoadU(d, from + k + 2 * lanes);
    const auto x3 = hn::LoadU(d, from + k + 3 * lanes);
    hn::StoreU(x0, d, to + k);
    hn::StoreU(x1, d, to + k + lanes);
    hn::StoreU(x2, d, to + k + 2 * lanes);
    hn::StoreU(x3, d, to + k + 3 * lanes);
  }
  if (k < count) {
    std::memcpy(to + k, from + k,
                static_cast<std::size_t>(count - k) * sizeof(Real));
  }
}

// Independent chains, which with the two constants fill the 16 registers of
// levels below AVX-512. Up to 5 cycles of latency by 2 units want 10 of them,
// the 4 by 4 of large Arm cores 16.
constexpr Index kChains = 14;

template <class Real>
Real MultiplyAdd(Index steps) {
  const hn::ScalableTag<Real> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  // The chains start differently, or the compiler would compute one for all.
  const auto start = [&](Index chain) HWY_ATTR {
    return hn::Iota(d, static_cast<Real>(chain * lanes));
  };
  const auto half = hn::Set(d, Real{0.5});
  const auto one = hn::Set(d, Real{1});
  auto x0 = start(0);
  auto x1 = start(1);
  auto x2 = start(2);
  auto x3 = start(3);
  auto x4 = start(4);
  auto x5 = start(5);
  auto x6 = start(6);
  auto x7 = start(7);
  auto x8 = start(8);
  auto x9 = start(9);
  auto x10 = start(10);
  auto x11 = start(11);
  auto x12 = start(12);
  auto x13 = start(13);
  for (Index step = 0; step < steps; ++step) {
    x0 = hn::MulAdd(x0, half, one);
    x1 = hn::MulAdd(x1, half, one);
    x2 = hn::MulAdd(x2, half, one);
    x3 = hn::MulAdd(x3, half, one);
    x4 = hn::MulAdd(x4, half, one);
    x5 = hn::MulAdd(x5, half, one);
    x6 = hn::MulAdd(x6, half, one);
    x7 = hn::MulAdd(x7, half, one);
    x8 = hn::MulAdd(x8, half, one);
    x9 = hn::MulAdd(x9, half, one);
    x10 = hn::MulAdd(x10, half, one);
    x11 = hn::MulAdd(x11, half, one);
    x12 = hn::MulAdd(x12, half, one);
    x13 = hn::MulAdd(x13, half, one);
  }
  x0 = hn::Add(hn::Add(x0, x1), hn::Add(x2, x3));
  x4 = hn::Add(hn::Add(x4, x5), hn::Add(x6, x7));
  x8 = hn::Add(hn::Add(x8, x9), hn::Add(x10, x11));
  x12 = hn::Add(x12, x13);
  const auto sum = hn::Add(hn::Add(x0, x4), hn::Add(x8, x12));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

template <class Real>
const LimitKernels<Real>* Table() {
  static const LimitKernels<Real> table = {
      &Read<Real>, &Copy<Real>, &MultiplyAdd<Real>,
      kChains * static_cast<Index>(hn::Lanes(hn::ScalableTag<Real>()))};
  return &table;
}

// HWY_EXPORT takes functions, not templates.
const LimitKernels<float>* SingleLimits() { return Table<float>(); }
const LimitKernels<double>* DoubleLimits() { return Table<double>(); }

}  // namespace
}  // namespace attnbench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnbench {
namespace {

HWY_EXPORT(SingleLimits);
HWY_EXPORT(DoubleLimits);

template <class Real>
const LimitKernels<Real>& DispatchedTable() {
  if constexpr (sizeof(Real) == sizeof(float)) {
    return *HWY_DYNAMIC_DISPATCH(SingleLimits)();
  } else {
    return *HWY_DYNAMIC_DISPATCH(DoubleLimits)();
  }
}

}  // namespace

template <class Real>
const LimitKernels<Real>& ChosenLimitKernels() {
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return DispatchedTable<Real>();
}

template <class Real>
const LimitKernels<Real>& LimitKernelsAt(const std::string& level) {
  return AtLevel(level, &DispatchedTable<Real>);
}

template const LimitKernels<float>& ChosenLimitKernels();
template const LimitKernels<double>& ChosenLimitKernels();
template const LimitKernels<float>& LimitKernelsAt(const std::string&);
template const LimitKernels<double>& LimitKernelsAt(const std::string&);

}  // namespace attnbench
#endif  // HWY_ONCE
