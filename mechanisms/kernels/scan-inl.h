// The recurrence of the monotonic scan over one row, forwards and backwards, as
// a parallel prefix over the lanes of a vector: x(j) = a(j) x(j-1) + b(j) is
// the composition of maps (a, b), which is associative.
//
// Lanes are f64 whatever the precision of the arrays: the rounding of 1 - p in
// f32 would take the same share of the mass at every entry of a long memory.
// clang-format off
#if defined(ATTNBENCH_MECHANISMS_KERNELS_SCAN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNBENCH_MECHANISMS_KERNELS_SCAN_INL_H_
#undef ATTNBENCH_MECHANISMS_KERNELS_SCAN_INL_H_
#else
#define ATTNBENCH_MECHANISMS_KERNELS_SCAN_INL_H_
#endif
// clang-format on

#include <algorithm>

#include "mechanisms/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnbench::HWY_NAMESPACE {
namespace {

// Loads or stores up to all lanes of the tag of doubles D, from or to an array
// of either precision. Lanes from `count` on are 0, or stay unwritten.
template <class D>
hn::Vec<D> LoadDoubles(D d, const double* from, Index count) {
  return count >= LanesOf(d) ? hn::LoadU(d, from) : LoadTail(d, from, count);
}
template <class D>
hn::Vec<D> LoadDoubles(D d, const float* from, Index count) {
  const hn::Rebind<float, D> narrow;
  return hn::PromoteTo(d, count >= LanesOf(d) ? hn::LoadU(narrow, from)
                                              : LoadTail(narrow, from, count));
}
template <class D>
void StoreDoubles(D d, hn::Vec<D> value, Index count, double* to) {
  if (count >= LanesOf(d)) {
    hn::StoreU(value, d, to);
  } else {
    StoreTail(d, value, to, count);
  }
}
template <class D>
void StoreDoubles(D d, hn::Vec<D> value, Index count, float* to) {
  const hn::Rebind<float, D> narrow;
  const auto rounded = hn::DemoteTo(narrow, value);
  if (count >= LanesOf(d)) {
    hn::StoreU(rounded, narrow, to);
  } else {
    StoreTail(narrow, rounded, to, count);
  }
}

// The map of each lane becomes the composition of those of all lanes before it
// (after it, where not Up) and its own, which is applied last.
template <bool Up, int Shift = 1, class D>
HWY_INLINE void Compose(D d, hn::Vec<D>& a, hn::Vec<D>& b) {
  if constexpr (Shift < kMaxLanes<D>) {
    b = hn::MulAdd(a, MoveLanes<Up, Shift>(d, b, hn::Zero(d)), b);
    a = hn::Mul(a, MoveLanes<Up, Shift>(d, a, hn::Set(d, 1.0)));
    Compose<Up, 2 * Shift>(d, a, b);
  }
}

// The neighbours' values one lane further; `edge` comes in at the end.
template <bool Up, class D>
HWY_INLINE hn::Vec<D> Neighbour(D d, hn::Vec<D> v, hn::Vec<D> edge) {
  if constexpr (kMaxLanes<D> == 1) {
    return edge;
  } else {
    return MoveLanes<Up, 1>(d, v, edge);
  }
}

// Four consecutive entries a lane, entry 4 n + k of the block in lane n of vk:
// most of the recurrence then runs down the four and needs no moves of lanes.
template <class D>
HWY_INLINE void LoadFour(D d, const double* from, hn::Vec<D>& v0,
                         hn::Vec<D>& v1, hn::Vec<D>& v2, hn::Vec<D>& v3) {
  hn::LoadInterleaved4(d, from, v0, v1, v2, v3);
}
template <class D>
HWY_INLINE void LoadFour(D d, const float* from, hn::Vec<D>& v0, hn::Vec<D>& v1,
                         hn::Vec<D>& v2, hn::Vec<D>& v3) {
  const hn::Rebind<float, D> narrow;
  hn::Vec<decltype(narrow)> n0, n1, n2, n3;
  hn::LoadInterleaved4(narrow, from, n0, n1, n2, n3);
  v0 = hn::PromoteTo(d, n0);
  v1 = hn::PromoteTo(d, n1);
  v2 = hn::PromoteTo(d, n2);
  v3 = hn::PromoteTo(d, n3);
}
template <class D>
HWY_INLINE void StoreFour(D d, hn::Vec<D> v0, hn::Vec<D> v1, hn::Vec<D> v2,
                          hn::Vec<D> v3, double* to) {
  hn::StoreInterleaved4(v0, v1, v2, v3, d, to);
}
template <class D>
HWY_INLINE void StoreFour(D /*d*/, hn::Vec<D> v0, hn::Vec<D> v1, hn::Vec<D> v2,
                          hn::Vec<D> v3, float* to) {
  const hn::Rebind<float, D> narrow;
  hn::StoreInterleaved4(hn::DemoteTo(narrow, v0), hn::DemoteTo(narrow, v1),
                        hn::DemoteTo(narrow, v2), hn::DemoteTo(narrow, v3),
                        narrow, to);
}

// 1 - p. `complement`, if there is one, has it for a p so near to 1 that 1 - p
// would be nothing but the rounding of p.
template <class D>
HWY_INLINE hn::Vec<D> Passed(D d, hn::Vec<D> p) {
  return hn::Sub(hn::Set(d, 1.0), p);
}
template <class D>
HWY_INLINE hn::Vec<D> Passed(D d, hn::Vec<D> p, hn::Vec<D> complement) {
  return hn::IfThenElse(hn::Le(p, hn::Set(d, 0.5)), Passed(d, p), complement);
}
template <class D, class Real>
HWY_INLINE hn::Vec<D> LoadPassed(D d, hn::Vec<D> p, const Real* complement,
                                 Index count) {
  if (complement == nullptr) return Passed(d, p);
  return Passed(d, p, LoadDoubles(d, complement, count));
}
template <class D, class Real>
HWY_INLINE void LoadFourPassed(D d, hn::Vec<D> p0, hn::Vec<D> p1, hn::Vec<D> p2,
                               hn::Vec<D> p3, const Real* complement,
                               hn::Vec<D>& a0, hn::Vec<D>& a1, hn::Vec<D>& a2,
                               hn::Vec<D>& a3) {
  if (complement == nullptr) {
    a0 = Passed(d, p0);
    a1 = Passed(d, p1);
    a2 = Passed(d, p2);
    a3 = Passed(d, p3);
    return;
  }
  hn::Vec<D> c0, c1, c2, c3;
  LoadFour(d, complement, c0, c1, c2, c3);
  a0 = Passed(d, p0, c0);
  a1 = Passed(d, p1, c1);
  a2 = Passed(d, p2, c2);
  a3 = Passed(d, p3, c3);
}

// Makes one row of the scan, an element or a block of four vectors at a time.
// With a = 1 - p, r(j) = a(j) (r(j-1) + start(j)) is what passes entry j.
template <class Real>
struct SelectRow {
  const Real* p;
  const Real* complement;
  const Real* start;
  Real* alpha;
  Real* arrived;

  // Makes up to a vector of entries from j on. Takes and returns r, in all
  // lanes.
  template <class D>
  HWY_INLINE hn::Vec<D> Few(D d, Index j, Index count,
                            hn::Vec<D> before) const {
    const auto p0 = LoadDoubles(d, p + j, count);
    const auto s0 = LoadDoubles(d, start + j, count);
    auto a = LoadPassed(d, p0, complement == nullptr ? nullptr : complement + j,
                        count);
    auto b = hn::Mul(a, s0);
    Compose<true>(d, a, b);
    const auto r = hn::MulAdd(a, before, b);
    const auto q = hn::Add(Neighbour<true>(d, r, before), s0);
    StoreDoubles(d, hn::Mul(p0, q), count, alpha + j);
    if (arrived != nullptr) StoreDoubles(d, q, count, arrived + j);
    return hn::MulAdd(BroadcastLast(d, a), before, BroadcastLast(d, b));
  }

  template <class D>
  HWY_INLINE hn::Vec<D> Four(D d, Index j, hn::Vec<D> before) const {
    hn::Vec<D> p0, p1, p2, p3, s0, s1, s2, s3, a0, a1, a2, a3;
    LoadFour(d, p + j, p0, p1, p2, p3);
    LoadFour(d, start + j, s0, s1, s2, s3);
    LoadFourPassed(d, p0, p1, p2, p3,
                   complement == nullptr ? nullptr : complement + j, a0, a1, a2,
                   a3);
    auto b = hn::Mul(a0, s0);
    b = hn::Mul(a1, hn::Add(b, s1));
    b = hn::Mul(a2, hn::Add(b, s2));
    b = hn::Mul(a3, hn::Add(b, s3));
    auto a = hn::Mul(hn::Mul(a0, a1), hn::Mul(a2, a3));
    Compose<true>(d, a, b);
    const auto q0 =
        hn::Add(Neighbour<true>(d, hn::MulAdd(a, before, b), before), s0);
    const auto q1 = hn::MulAdd(a0, q0, s1);
    const auto q2 = hn::MulAdd(a1, q1, s2);
    const auto q3 = hn::MulAdd(a2, q2, s3);
    StoreFour(d, hn::Mul(p0, q0), hn::Mul(p1, q1), hn::Mul(p2, q2),
              hn::Mul(p3, q3), alpha + j);
    if (arrived != nullptr) StoreFour(d, q0, q1, q2, q3, arrived + j);
    // This needs nothing just made: the next block waits for one multiply-add.
    return hn::MulAdd(BroadcastLast(d, a), before, BroadcastLast(d, b));
  }
};

// Finds where the entries of x that are not 0 begin and end, in whole vectors.
template <class Real>
void FindNonzero(const Real* x, Index count, Index& begin, Index& end) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  const auto is_zero = [&](Index j) HWY_ATTR {
    return hn::AllTrue(d, hn::Eq(hn::LoadU(d, x + j), hn::Zero(d)));
  };
  begin = 0;
  while (begin + lanes <= count && is_zero(begin)) begin += lanes;
  end = count;
  while (end - lanes >= begin && is_zero(end - lanes)) end -= lanes;
}

template <class Real>
void Select(const Real* p, const Real* complement, const Real* start,
            Index count, Real* alpha, Real* arrived) {
  const hn::ScalableTag<double> d;
  const Index lanes = LanesOf(d);
  // Less mass than this rounds to 0 in Real, whatever p is.
  constexpr double kVanished = sizeof(Real) == sizeof(float) ? 7e-46 : 0;
  const SelectRow<Real> row = {p, complement, start, alpha, arrived};
  Index begin = 0, last = 0;
  FindNonzero(start, count, begin, last);
  auto passed = hn::Zero(d);
  Index j = begin;
  const auto goes_on = [&](Index size) HWY_ATTR {
    return j + size <= count &&
           (j < last || !(hn::GetLane(passed) <= kVanished));
  };
  while (goes_on(4 * lanes)) {
    passed = row.Four(d, j, passed);
    j += 4 * lanes;
  }
  while (goes_on(1)) {
    const Index size = std::min(lanes, count - j);
    passed = row.Few(d, j, size, passed);
    j += size;
  }
  for (Real* const out : {alpha, arrived}) {
    if (out == nullptr) continue;
    std::fill(out, out + begin, Real{0});
    std::fill(out + j, out + count, Real{0});
  }
}

// Does the same backwards: dq(j) = p(j) d_alpha(j) + a(j) dq(j+1). Missing
// lanes have p = 0 and hand dq down. It takes a vector at a time: with five
// arrays, interleaving costs more than it saves.
template <class Real>
void SelectBackward(const Real* p, const Real* complement, const Real* arrived,
                    const Real* d_alpha, Index count, Real* d_p,
                    Real* d_start) {
  const hn::ScalableTag<double> d;
  const Index lanes = LanesOf(d);
  auto after = hn::Zero(d);  // dq of the entry behind, in all lanes
  for (Index end = count; end > 0;) {
    const Index size = end % lanes == 0 ? lanes : end % lanes;
    const Index j = end - size;
    const auto p0 = LoadDoubles(d, p + j, size);
    const auto g = LoadDoubles(d, d_alpha + j, size);
    auto a = LoadPassed(d, p0, complement == nullptr ? nullptr : complement + j,
                        size);
    auto b = hn::Mul(p0, g);
    Compose<false>(d, a, b);
    const auto dq = hn::MulAdd(a, after, b);
    const auto q = LoadDoubles(d, arrived + j, size);
    StoreDoubles(d, hn::Mul(q, hn::Sub(g, Neighbour<false>(d, dq, after))),
                 size, d_p + j);
    StoreDoubles(d, dq, size, d_start + j);
    after = hn::MulAdd(BroadcastFirst(d, a), after, BroadcastFirst(d, b));
    end = j;
  }
}

}  // namespace
}  // namespace attnbench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
