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

// Less mass than this rounds to 0 in Real, whatever p is, and goes no further.
// NaN is no less than anything.
template <class Real>
constexpr double kVanished = sizeof(Real) == sizeof(float) ? 7e-46 : 0;
template <class Real, class D>
HWY_INLINE hn::Vec<D> Kept(D d, hn::Vec<D> mass) {
  if constexpr (kVanished<Real> == 0) return mass;
  return hn::IfThenZeroElse(hn::Le(mass, hn::Set(d, kVanished<Real>)), mass);
}

// Makes one row of the scan, an element or a block of four vectors at a time.
// With a = 1 - p, r(j) = a(j) (r(j-1) + start(j)) is what passes entry j. From
// row to row whole blocks of `start` stay as LoadFour gives them, vector after
// vector: only the first row finds it in order, and the last leaves it so.
template <class Real>
struct SelectRow {
  const Real* p;
  const Real* complement;
  double* start;  // replaced by that of the next row
  Real* alpha;
  Real* arrived;
  bool is_first, is_last;

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
    const auto chosen = hn::Mul(p0, q);
    StoreDoubles(d, chosen, count, alpha + j);
    StoreDoubles(d, Kept<Real>(d, chosen), count, start + j);
    if (arrived != nullptr) StoreDoubles(d, q, count, arrived + j);
    return hn::MulAdd(BroadcastLast(d, a), before, BroadcastLast(d, b));
  }

  template <class D>
  HWY_INLINE hn::Vec<D> Four(D d, Index j, hn::Vec<D> before) const {
    hn::Vec<D> p0, p1, p2, p3, s0, s1, s2, s3, a0, a1, a2, a3;
    LoadFour(d, p + j, p0, p1, p2, p3);
    double* const from = start + j;
    const Index lanes = LanesOf(d);
    if (is_first) {
      LoadFour(d, from, s0, s1, s2, s3);
    } else {
      s0 = hn::LoadU(d, from);
      s1 = hn::LoadU(d, from + lanes);
      s2 = hn::LoadU(d, from + 2 * lanes);
      s3 = hn::LoadU(d, from + 3 * lanes);
    }
    LoadFourPassed(d, p0, p1, p2, p3,
                   complement == nullptr ? nullptr : complement + j, a0, a1, a2,
                   a3);
    auto b = hn::MulAdd(a0, s0, s1);
    b = hn::MulAdd(a1, b, s2);
    b = hn::MulAdd(a2, b, s3);
    b = hn::Mul(a3, b);
    auto a = hn::Mul(hn::Mul(a0, a1), hn::Mul(a2, a3));
    Compose<true>(d, a, b);
    const auto q0 =
        hn::Add(Neighbour<true>(d, hn::MulAdd(a, before, b), before), s0);
    const auto q1 = hn::MulAdd(a0, q0, s1);
    const auto q2 = hn::MulAdd(a1, q1, s2);
    const auto q3 = hn::MulAdd(a2, q2, s3);
    p0 = hn::Mul(p0, q0);
    p1 = hn::Mul(p1, q1);
    p2 = hn::Mul(p2, q2);
    p3 = hn::Mul(p3, q3);
    StoreFour(d, p0, p1, p2, p3, alpha + j);
    p0 = Kept<Real>(d, p0);
    p1 = Kept<Real>(d, p1);
    p2 = Kept<Real>(d, p2);
    p3 = Kept<Real>(d, p3);
    if (is_last) {
      StoreFour(d, p0, p1, p2, p3, from);
    } else {
      hn::StoreU(p0, d, from);
      hn::StoreU(p1, d, from + lanes);
      hn::StoreU(p2, d, from + 2 * lanes);
      hn::StoreU(p3, d, from + 3 * lanes);
    }
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
void Select(const SelectRow<Real>& row, Index count) {
  const hn::ScalableTag<double> d;
  const Index lanes = LanesOf(d);
  Index begin = 0, last = 0;
  FindNonzero(row.start, count, begin, last);
  // Numbers may be anywhere in their block.
  const Index block = 4 * lanes;
  begin -= begin % block;
  last = std::min(count, (last + block - 1) / block * block);
  auto passed = hn::Zero(d);
  Index j = begin;
  const auto goes_on = [&](Index size) HWY_ATTR {
    return j + size <= count &&
           (j < last || !(hn::GetLane(passed) <= kVanished<Real>));
  };
  while (goes_on(block)) {
    passed = row.Four(d, j, passed);
    j += block;
  }
  while (goes_on(1)) {
    const Index size = std::min(lanes, count - j);
    passed = row.Few(d, j, size, passed);
    j += size;
  }
  for (Real* const out : {row.alpha, row.arrived}) {
    if (out == nullptr) continue;
    std::fill(out, out + begin, Real{0});
    std::fill(out + j, out + count, Real{0});
  }
}

#if HWY_TARGET != HWY_SCALAR
// Four rows in the four lanes, each a block of four entries behind the one
// above it, from which it takes where it starts: the recurrence then runs down
// the entries and needs no prefix over lanes.
template <class Real>
class SelectFour {
  static constexpr Index kRows = 4;
  using D = hn::CappedTag<double, kRows>;
  using Narrow = hn::CappedTag<Real, kRows>;
  using V = hn::Vec<D>;

 public:
  const Real* p;
  Index p_stride;
  const Real* complement;
  Index rows, count;
  Real* alpha;
  Index alpha_stride;
  Real* arrived;

  // Replaces `start` by that of the row behind the last.
  void Run(double* start) const {
    const D d;
    // Lanes without a row of their own are handed the mass of the row above.
    const auto own = hn::FirstN(d, static_cast<std::size_t>(rows));
    Index begin = 0, last = 0;
    FindNonzero(start, count, begin, last);
    begin -= begin % kRows;
    auto passed = hn::Zero(d);
    V a0 = passed, a1 = passed, a2 = passed, a3 = passed;  // alpha, step before
    Index top = begin;  // the block of the first row
    while (top - kRows * (rows - 1) < count) {
      V p0, p1, p2, p3, s0, s1, s2, s3, q0, q1, q2, q3;
      Load(p, p_stride, top, begin, p0, p1, p2, p3);
      V c0 = Passed(d, p0), c1 = Passed(d, p1), c2 = Passed(d, p2),
        c3 = Passed(d, p3);
      if (complement != nullptr) {
        Load(complement, count, top, begin, s0, s1, s2, s3);
        c0 = Passed(d, p0, s0), c1 = Passed(d, p1, s1);
        c2 = Passed(d, p2, s2), c3 = Passed(d, p3, s3);
      }
      const auto first = [&](Index k) HWY_ATTR {
        return hn::Set(d, top + k < count ? start[top + k] : 0.0);
      };
      s0 = MoveLanes<true, 1>(d, a0, first(0));
      s1 = MoveLanes<true, 1>(d, a1, first(1));
      s2 = MoveLanes<true, 1>(d, a2, first(2));
      s3 = MoveLanes<true, 1>(d, a3, first(3));
      q0 = hn::Add(passed, s0);
      passed = hn::MulAdd(c0, passed, hn::Mul(c0, s0));
      q1 = hn::Add(passed, s1);
      passed = hn::MulAdd(c1, passed, hn::Mul(c1, s1));
      q2 = hn::Add(passed, s2);
      passed = hn::MulAdd(c2, passed, hn::Mul(c2, s2));
      q3 = hn::Add(passed, s3);
      passed = hn::MulAdd(c3, passed, hn::Mul(c3, s3));
      passed = hn::IfThenElseZero(own, Kept<Real>(d, passed));
      a0 = Kept<Real>(d, hn::Mul(p0, q0)), a1 = Kept<Real>(d, hn::Mul(p1, q1));
      a2 = Kept<Real>(d, hn::Mul(p2, q2)), a3 = Kept<Real>(d, hn::Mul(p3, q3));
      Store(a0, a1, a2, a3, top, begin, alpha, alpha_stride);
      StoreLast(a0, a1, a2, a3, top - kRows * (rows - 1), begin, start);
      if (arrived != nullptr) {
        Store(q0, q1, q2, q3, top, begin, arrived, count);
      }
      top += kRows;
      if (top < last) continue;
      const auto rest = hn::Or(hn::Or(hn::Or(a0, a1), hn::Or(a2, a3)), passed);
      if (hn::AllTrue(d, hn::Eq(rest, hn::Zero(d)))) break;
    }
    for (Index r = 0; r < rows; ++r) {
      const Index end = std::clamp(top - kRows * r, begin, count);
      for (Real* const out :
           {alpha + r * alpha_stride,
            arrived == nullptr ? nullptr : arrived + r * count}) {
        if (out == nullptr) continue;
        std::fill(out, out + begin, Real{0});
        std::fill(out + end, out + count, Real{0});
      }
    }
    std::fill(start + std::clamp(top - kRows * (rows - 1), begin, count),
              start + count, 0.0);
  }

 private:
  // Stores lane rows - 1 of each, entry k of the block at `at` from vk.
  void StoreLast(V v0, V v1, V v2, V v3, Index at, Index begin,
                 double* to) const {
    if (at < begin || at >= count) return;
    const D d;
    HWY_ALIGN double lanes[kRows * kRows];
    hn::Store(v0, d, lanes);
    hn::Store(v1, d, lanes + kRows);
    hn::Store(v2, d, lanes + 2 * kRows);
    hn::Store(v3, d, lanes + 3 * kRows);
    for (Index k = 0; k < std::min(kRows, count - at); ++k) {
      to[at + k] = lanes[k * kRows + rows - 1];
    }
  }

  // Entry k of the four that row r has at block top - 4 r goes to lane r of vk;
  // what lies before `begin` or outside the array is 0.
  void Load(const Real* from, Index stride, Index top, Index begin, V& v0,
            V& v1, V& v2, V& v3) const {
    const Narrow n;
    const auto row = [&](Index r) HWY_ATTR {
      const Index at = top - kRows * r;
      if (r >= rows || at < begin || at >= count) return hn::Zero(n);
      const Real* const here = from + r * stride + at;
      return at + kRows <= count ? hn::LoadU(n, here)
                                 : LoadTail(n, here, count - at);
    };
    auto r0 = row(0), r1 = row(1), r2 = row(2), r3 = row(3);
    Transpose(r0, r1, r2, r3);
    v0 = Widened(r0), v1 = Widened(r1), v2 = Widened(r2), v3 = Widened(r3);
  }

  void Store(V v0, V v1, V v2, V v3, Index top, Index begin, Real* to,
             Index stride) const {
    const Narrow n;
    auto r0 = Narrowed(v0), r1 = Narrowed(v1), r2 = Narrowed(v2),
         r3 = Narrowed(v3);
    Transpose(r0, r1, r2, r3);
    const auto store = [&](Index r, auto value) HWY_ATTR {
      const Index at = top - kRows * r;
      if (r >= rows || at < begin || at >= count) return;
      Real* const here = to + r * stride + at;
      if (at + kRows <= count) {
        hn::StoreU(value, n, here);
      } else {
        StoreTail(n, value, here, count - at);
      }
    };
    store(0, r0);
    store(1, r1);
    store(2, r2);
    store(3, r3);
  }

  static V Widened(hn::Vec<Narrow> v) {
    if constexpr (sizeof(Real) == sizeof(double)) {
      return v;
    } else {
      return hn::PromoteTo(D(), v);
    }
  }
  static hn::Vec<Narrow> Narrowed(V v) {
    if constexpr (sizeof(Real) == sizeof(double)) {
      return v;
    } else {
      return hn::DemoteTo(Narrow(), v);
    }
  }

  template <class T>
  static void Transpose(T& r0, T& r1, T& r2, T& r3) {
    const Narrow n;
    const auto low0 = hn::InterleaveLower(n, r0, r1),
               high0 = hn::InterleaveUpper(n, r0, r1),
               low1 = hn::InterleaveLower(n, r2, r3),
               high1 = hn::InterleaveUpper(n, r2, r3);
    // Interleaving goes by blocks of 16 bytes: two doubles or four floats.
    const auto& second = sizeof(Real) == sizeof(double) ? high0 : low0;
    r0 = hn::ConcatLowerLower(n, low1, low0);
    r3 = hn::ConcatUpperUpper(n, high1, high0);
    if constexpr (sizeof(Real) == sizeof(double)) {
      r1 = hn::ConcatLowerLower(n, high1, second);
      r2 = hn::ConcatUpperUpper(n, low1, low0);
    } else {
      r1 = hn::ConcatUpperUpper(n, low1, second);
      r2 = hn::ConcatLowerLower(n, high1, high0);
    }
  }
};
#endif

template <class Real>
void SelectRows(const Real* p, Index p_stride, const Real* complement,
                double* start, Index rows, Index count, Real* alpha,
                Index alpha_stride, Real* arrived) {
  const auto at = [count](auto* array, Index i) {
    return array == nullptr ? nullptr : array + i * count;
  };
  Index i = 0;
  // Four rows fill four lanes. Fewer lanes have no vector of them, and more
  // would stay empty.
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kMaxLanes<hn::ScalableTag<double>> == 4) {
    for (; i < rows; i += 4) {
      const SelectFour<Real> four = {p + i * p_stride,
                                     p_stride,
                                     at(complement, i),
                                     std::min(Index{4}, rows - i),
                                     count,
                                     alpha + i * alpha_stride,
                                     alpha_stride,
                                     at(arrived, i)};
      four.Run(start);
    }
  }
#endif
  for (; i < rows; ++i) {
    const SelectRow<Real> row = {p + i * p_stride,
                                 at(complement, i),
                                 start,
                                 alpha + i * alpha_stride,
                                 at(arrived, i),
                                 i == 0,
                                 i == rows - 1};
    Select(row, count);
  }
}

// Does the same backwards: dq(j) = p(j) g(j) + a(j) dq(j+1). Missing lanes have
// p = 0 and hand dq down. It takes a vector at a time: with six arrays,
// interleaving costs more than it saves.
template <class Real>
void SelectBackward(const Real* p, const Real* complement, const Real* arrived,
                    const Real* d_alpha, Index count, Real* d_p,
                    double* d_start) {
  const hn::ScalableTag<double> d;
  const Index lanes = LanesOf(d);
  auto after = hn::Zero(d);  // dq of the entry behind, in all lanes
  for (Index end = count; end > 0;) {
    const Index size = end % lanes == 0 ? lanes : end % lanes;
    const Index j = end - size;
    const auto p0 = LoadDoubles(d, p + j, size);
    auto g = LoadDoubles(d, d_start + j, size);
    if (d_alpha != nullptr) g = hn::Add(LoadDoubles(d, d_alpha + j, size), g);
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
