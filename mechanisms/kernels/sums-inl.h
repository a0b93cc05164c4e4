// Sums that chunkwise attention is made of: over every window of an array, and
// over the reciprocals of all pairs. All terms are added, none subtracted: with
// positive terms nothing cancels.
// clang-format off
#if defined(ATTNBENCH_MECHANISMS_KERNELS_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNBENCH_MECHANISMS_KERNELS_SUMS_INL_H_
#undef ATTNBENCH_MECHANISMS_KERNELS_SUMS_INL_H_
#else
#define ATTNBENCH_MECHANISMS_KERNELS_SUMS_INL_H_
#endif
// clang-format on

#include <algorithm>

#include "mechanisms/kernels/elements-inl.h"
#include "mechanisms/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnbench::HWY_NAMESPACE {
namespace {

// Sums over windows up to this width are quadrupled, in pieces of so many bytes
// that stay in the first-level cache; for wider ones two running sums cost
// less.
constexpr Index kNarrow = 64;
constexpr Index kPieceBytes = 8192;

// The sum of the lanes up to each (from each on, where not Up).
template <bool Up, int Shift = 1, class D>
HWY_INLINE hn::Vec<D> RunningLanes(D d, hn::Vec<D> v) {
  if constexpr (Shift < kMaxLanes<D>) {
    v = hn::Add(v, MoveLanes<Up, Shift>(d, v, hn::Zero(d)));
    return RunningLanes<Up, 2 * Shift>(d, v);
  } else {
    return v;
  }
}

// Makes one vector of RunningSums; returns what of the sum is new.
template <bool Up, class D, class Real = hn::TFromD<D>>
HWY_INLINE double RunningStep(D d, const Real* x, Index count, double before,
                              const Real* addend, Real* sums) {
  const bool whole = count >= LanesOf(d);
  auto v = whole ? hn::LoadU(d, x) : LoadTail(d, x, count);
  v = RunningLanes<Up>(d, v);
  const auto all = Up ? BroadcastLast(d, v) : BroadcastFirst(d, v);
  v = hn::Add(v, hn::Set(d, static_cast<Real>(before)));
  if (addend != nullptr) {
    v = hn::Add(v, whole ? hn::LoadU(d, addend) : LoadTail(d, addend, count));
  }
  if (whole) {
    hn::StoreU(v, d, sums);
  } else {
    StoreTail(d, v, sums, count);
  }
  return static_cast<double>(hn::GetLane(all));
}

// sums(k) = x(0) + ... + x(k) (x(k) + ... + x(count-1), where not Up), and
// addend(k) where there is one. What goes from vector to vector is kept in f64.
template <bool Up, class Real>
void RunningSums(const Real* x, Index count, const Real* addend, Real* sums) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  const Index tail = count % lanes;
  const auto at = [addend](Index k) {
    return addend == nullptr ? nullptr : addend + k;
  };
  double before = 0;
  if constexpr (Up) {
    Index k = 0;
    for (; k + lanes <= count; k += lanes) {
      before += RunningStep<Up>(d, x + k, lanes, before, at(k), sums + k);
    }
    if (tail > 0) RunningStep<Up>(d, x + k, tail, before, at(k), sums + k);
  } else {
    Index k = count - tail;
    if (tail > 0) {
      before = RunningStep<Up>(d, x + k, tail, before, at(k), sums + k);
    }
    while (k > 0) {
      k -= lanes;
      before += RunningStep<Up>(d, x + k, lanes, before, at(k), sums + k);
    }
  }
}

// 1 / x to 2 u, where x86 has a guess for x and 1 / x.
template <class D, class Real = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> FineReciprocal(D d, hn::Vec<D> x) {
  const auto one = hn::Set(d, Real{1});
  if constexpr (HWY_ARCH_X86 && sizeof(Real) == sizeof(float)) {
    // The guess is (1 - r) / x, and 1 / (1 - r) is 1 + r + r^2 but for 2^-34.
    const auto guess = hn::ApproximateReciprocal(x);
    const auto r = hn::NegMulAdd(x, guess, one);
    return hn::MulAdd(guess, hn::MulAdd(r, r, r), guess);
  } else {
    return hn::Div(one, x);
  }
}

// How a sum over a window is written.
//
// Writes a sum times a factor.
template <class Real>
struct Product {
  const Real* factors;
  Real* products;

  Product From(Index k) const { return {factors + k, products + k}; }
  template <class Store>
  HWY_INLINE void Write(Index k, auto load, const Store& store,
                        auto sum) const {
    store(products + k, hn::Mul(load(factors + k), sum));
  }
};

// Writes numerator / sum.
template <class Real>
struct Ratio {
  const Real* numerators;
  Real* ratios;

  Ratio From(Index k) const { return {numerators + k, ratios + k}; }
  template <class Store>
  HWY_INLINE void Write(Index k, auto load, const Store& store,
                        auto sum) const {
    const auto inverse = FineReciprocal(hn::DFromV<decltype(sum)>(), sum);
    store(ratios + k, hn::Mul(load(numerators + k), inverse));
  }
};

// Writes the sums that get(k) makes, a vector of those from k on, for k in
// [0, count).
template <class Real, class Get, class Out>
HWY_INLINE void WriteSums(Index count, const Get& get, const Out& out) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  const auto write = [&](Index k, Index size) HWY_ATTR {
    out.Write(
        k, [=](const auto* from) HWY_ATTR { return LoadLanes(d, from, size); },
        [=](auto* to, auto v) HWY_ATTR { StoreLanes(d, v, size, to); }, get(k));
  };
  Index k = 0;
  for (; k + lanes <= count; k += lanes) write(k, lanes);
  if (k < count) write(k, count - k);
}

// Makes the sums over windows of 1, 4, 16, ... entries, each from the last, and
// adds up those that `width` is made of, one behind the other. Windows reach
// back (Up) or forward into a halo, which lies so that entry 0 of a piece is at
// the beginning of a cache line.
template <bool Up, class Real, class Out>
void NarrowSums(const Real* x, Index count, Index width, const Out& out) {
  const hn::ScalableTag<Real> d;
  constexpr Index kLine = 64 / sizeof(Real);
  constexpr Index kMost = hn::MaxLanes(d);
  constexpr Index kPiece = kPieceBytes / sizeof(Real);
  constexpr Index kRoom = kPiece + kNarrow + 2 * kLine + 4 * kMost;
  HWY_ALIGN Real buffers[3][kRoom];
  const Index lanes = LanesOf(d);
  const Index halo = (width + kLine - 1) / kLine * kLine + kLine;
  const Index sign = Up ? -1 : 1;
  for (Index first = 0; first < count; first += kPiece) {
    const Index size = std::min(kPiece, count - first);
    const Index begin = Up ? halo : 0;  // where entry 0 of the piece is
    const Index all = size + halo;
    Index valid = all + 4 * kMost;  // numbers of y
    {
      const Index from = Up ? std::max(first - halo, Index{0}) : first;
      const Index to = Up ? first + size : std::min(first + all, count);
      Real* end =
          std::fill_n(buffers[0], Up ? halo - (first - from) : 0, Real{0});
      end = std::copy(x + from, x + to, end);
      std::fill(end, buffers[0] + valid, Real{0});
    }
    Real* y = buffers[0];
    Real* next = buffers[1];
    Real* const sums = buffers[2];  // of the digits that are done
    Index done = 0;                 // entries of each window
    const auto four = [&](const Real* at, Index shift) HWY_ATTR {
      const Index step = sign * shift;
      return hn::Add(
          hn::Add(hn::LoadU(d, at), hn::LoadU(d, at + step)),
          hn::Add(hn::LoadU(d, at + 2 * step), hn::LoadU(d, at + 3 * step)));
    };
    for (Index wide = 1;; wide *= 4) {
      const bool is_last = 4 * wide > width;
      const Index digit = width / wide % 4;
      // The last windows may be made where they are written.
      if (is_last && digit == 1 && wide > 1) {
        const Real* const at = y + begin + sign * done;
        const auto get = [&](Index k) HWY_ATTR {
          const auto sum = four(at + k, wide / 4);
          return done == 0 ? sum : hn::Add(hn::LoadU(d, sums + k), sum);
        };
        WriteSums<Real>(size, get, out.From(first));
        break;
      }
      if (wide > 1) {
        // What lies nearer to an end reaches beyond it, and nobody wants it.
        const Index reach = 3 * wide / 4;
        Index k = Up ? kLine + (wide > 4 ? wide : 0) : 0;
        const Index end = Up ? all : valid - reach - lanes + 1;
        for (; k < end; k += lanes) {
          hn::StoreU(four(y + k, wide / 4), d, next + k);
        }
        valid = k;
        std::swap(y, next);
      }
      const Real* const at = y + begin + sign * done;
      const auto get = [&](Index k) HWY_ATTR {
        auto sum = hn::LoadU(d, at + k);
        for (Index n = 1; n < digit; ++n) {
          sum = hn::Add(sum, hn::LoadU(d, at + k + sign * n * wide));
        }
        return done == 0 ? sum : hn::Add(hn::LoadU(d, sums + k), sum);
      };
      if (is_last) {
        WriteSums<Real>(size, get, out.From(first));
        break;
      }
      if (digit == 0) continue;
      for (Index k = 0; k < size; k += lanes) hn::StoreU(get(k), d, sums + k);
      done += digit * wide;
    }
  }
}

// The array is cut into blocks of `width`: a window is the end of one and the
// beginning of the next. Whatever the width, an entry is added three times.
template <class Real>
void WideSumsUpTo(const Real* x, Index count, Index width, Real* scratch,
                  Real* sums) {
  if (width >= count) return RunningSums<true, Real>(x, count, nullptr, sums);
  // scratch(n): the last width - n entries of the block before.
  scratch[width] = 0;
  for (Index first = 0; first < count; first += width) {
    const Index size = std::min(width, count - first);
    RunningSums<true>(x + first, size, first == 0 ? nullptr : scratch + 1,
                      sums + first);
    if (first + width < count) {
      RunningSums<false, Real>(x + first, width, nullptr, scratch);
    }
  }
}

// Does the same from the other end.
template <class Real>
void WideSumsFrom(const Real* x, Index count, Index width, Real* scratch,
                  Real* sums) {
  if (width >= count) return RunningSums<false, Real>(x, count, nullptr, sums);
  // scratch(n): the first n entries of the block behind.
  scratch[0] = 0;
  for (Index end = count; end > 0; end -= std::min(width, end)) {
    const Index size = std::min(width, end);
    const Index first = end - size;
    RunningSums<false>(x + first, size,
                       end == count ? nullptr : scratch + width - size,
                       sums + first);
    if (first > 0) {
      RunningSums<true, Real>(x + first, width, nullptr, scratch + 1);
    }
  }
}

constexpr bool IsNarrow(Index count, Index width) {
  return width < count && width <= kNarrow;
}

// Passes the sums over windows to `out`; wide ones are made in `sums` first.
template <bool Up, class Real, class Out>
void WindowSums(const Real* x, Index count, Index width, Real* scratch,
                Real* sums, const Out& out) {
  if (IsNarrow(count, width)) return NarrowSums<Up>(x, count, width, out);
  if constexpr (Up) {
    WideSumsUpTo(x, count, width, scratch, sums);
  } else {
    WideSumsFrom(x, count, width, scratch, sums);
  }
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  WriteSums<Real>(
      count,
      [=](Index k) HWY_ATTR {
        return count - k >= lanes ? hn::LoadU(d, sums + k)
                                  : LoadTailOr(d, sums + k, count - k, Real{1});
      },
      out);
}

template <class Real>
void SumsFrom(const Real* x, const Real* factors, Index count, Index width,
              Real* scratch, Real* sums) {
  WindowSums<false>(x, count, width, scratch, sums,
                    Product<Real>{factors, sums});
}

template <class Real>
void RatiosUpTo(const Real* x, const Real* numerators, Index count, Index width,
                Real* scratch, Real* ratios) {
  WindowSums<true>(x, count, width, scratch, ratios,
                   Ratio<Real>{numerators, ratios});
}

template <class D, class Real = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> Reciprocal(D d, hn::Vec<D> x) {
  // One step of Newton's method doubles the 12 bits that an x86 guess has; on
  // Arm it has 8.
  if constexpr (HWY_ARCH_X86 && sizeof(Real) == sizeof(float)) {
    const auto guess = hn::ApproximateReciprocal(x);
    return hn::Mul(guess, hn::NegMulAdd(x, guess, hn::Set(d, Real{2})));
  } else {
    return hn::Div(hn::Set(d, Real{1}), x);
  }
}

// Takes one vector of entries l against four of k.
template <class D>
HWY_INLINE hn::Vec<D> ReciprocalStep(
    D d, hn::Vec<D> y, hn::Vec<D> b, hn::Vec<D> x0, hn::Vec<D> x1,
    hn::Vec<D> x2, hn::Vec<D> x3, hn::Vec<D> a0, hn::Vec<D> a1, hn::Vec<D> a2,
    hn::Vec<D> a3, hn::Vec<D>& row0, hn::Vec<D>& row1, hn::Vec<D>& row2,
    hn::Vec<D>& row3, hn::Vec<D> column) {
  const auto r0 = Reciprocal(d, hn::Add(x0, y));
  const auto r1 = Reciprocal(d, hn::Add(x1, y));
  const auto r2 = Reciprocal(d, hn::Add(x2, y));
  const auto r3 = Reciprocal(d, hn::Add(x3, y));
  row0 = hn::MulAdd(b, r0, row0);
  row1 = hn::MulAdd(b, r1, row1);
  row2 = hn::MulAdd(b, r2, row2);
  row3 = hn::MulAdd(b, r3, row3);
  column = hn::MulAdd(a0, r0, column);
  column = hn::MulAdd(a1, r1, column);
  column = hn::MulAdd(a2, r2, column);
  return hn::MulAdd(a3, r3, column);
}

// Takes up to four k against all l; rows beyond `rows` repeat the first with
// weight 0.
template <class Real>
void FourReciprocalSums(const Real* x, const Real* a, Index rows, const Real* y,
                        const Real* b, Index count, Real* row_sums,
                        Real* column_sums) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  const auto value = [&](const Real* from, Index k) HWY_ATTR {
    return hn::Set(d, from[k < rows ? k : 0]);
  };
  const auto weight = [&](Index k) HWY_ATTR {
    return hn::Set(d, k < rows ? a[k] : Real{0});
  };
  const auto x0 = value(x, 0), x1 = value(x, 1), x2 = value(x, 2),
             x3 = value(x, 3);
  const auto a0 = weight(0), a1 = weight(1), a2 = weight(2), a3 = weight(3);
  auto row0 = hn::Zero(d), row1 = hn::Zero(d), row2 = hn::Zero(d),
       row3 = hn::Zero(d);
  Index l = 0;
  for (; l + lanes <= count; l += lanes) {
    const auto column = ReciprocalStep(
        d, hn::LoadU(d, y + l), hn::LoadU(d, b + l), x0, x1, x2, x3, a0, a1, a2,
        a3, row0, row1, row2, row3, hn::LoadU(d, column_sums + l));
    hn::StoreU(column, d, column_sums + l);
  }
  if (l < count) {
    const auto column = ReciprocalStep(
        d, LoadTailOr(d, y + l, count - l, Real{1}),
        LoadTail(d, b + l, count - l), x0, x1, x2, x3, a0, a1, a2, a3, row0,
        row1, row2, row3, LoadTail(d, column_sums + l, count - l));
    StoreTail(d, column, column_sums + l, count - l);
  }
  const Real sums[4] = {hn::GetLane(hn::SumOfLanes(d, row0)),
                        hn::GetLane(hn::SumOfLanes(d, row1)),
                        hn::GetLane(hn::SumOfLanes(d, row2)),
                        hn::GetLane(hn::SumOfLanes(d, row3))};
  std::copy(sums, sums + rows, row_sums);
}

template <class Real>
void ReciprocalSums(const Real* x, const Real* a, Index rows, const Real* y,
                    const Real* b, Index count, Real* row_sums,
                    Real* column_sums) {
  for (Index k = 0; k < rows; k += 4) {
    FourReciprocalSums(x + k, a + k, std::min(Index{4}, rows - k), y, b, count,
                       row_sums + k, column_sums);
  }
}

template <class Real>
void ReciprocalMoments(Real x, Real a, Real a2, const Real* y, const Real* b,
                       const Real* b2, Index count, Real row_sums[4],
                       Real* const column_sums[4]) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  const auto x0 = hn::Set(d, x);
  const auto a0 = hn::Set(d, a);
  const auto a1 = hn::Set(d, a2);
  auto row0 = hn::Zero(d), row1 = hn::Zero(d), row2 = hn::Zero(d),
       row3 = hn::Zero(d);
  for (Index l = 0; l < count; l += lanes) {
    const Index size = std::min(lanes, count - l);
    const bool whole = size == lanes;
    const auto load = [&](const Real* from) HWY_ATTR {
      return whole ? hn::LoadU(d, from) : LoadTail(d, from, size);
    };
    // Missing lanes have weights 0, and a y of 1.
    const auto r =
        Reciprocal(d, hn::Add(x0, whole ? hn::LoadU(d, y + l)
                                        : LoadTailOr(d, y + l, size, Real{1})));
    const auto br = hn::Mul(load(b + l), r);
    const auto b2r = hn::Mul(load(b2 + l), r);
    row0 = hn::Add(row0, br);
    row1 = hn::Add(row1, b2r);
    row2 = hn::MulAdd(br, r, row2);
    row3 = hn::MulAdd(b2r, r, row3);
    const auto add = [&](Real* column, auto factor) HWY_ATTR {
      const auto sum = hn::MulAdd(factor, r, load(column + l));
      if (whole) {
        hn::StoreU(sum, d, column + l);
      } else {
        StoreTail(d, sum, column + l, size);
      }
    };
    add(column_sums[0], a0);
    add(column_sums[1], a1);
    add(column_sums[2], hn::Mul(a0, r));
    add(column_sums[3], hn::Mul(a1, r));
  }
  const auto sum = [d](auto row)
                       HWY_ATTR { return hn::GetLane(hn::SumOfLanes(d, row)); };
  row_sums[0] = sum(row0);
  row_sums[1] = sum(row1);
  row_sums[2] = sum(row2);
  row_sums[3] = sum(row3);
}

}  // namespace
}  // namespace attnbench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
