// Functions of each element of an array by itself, and sums over them.
// clang-format off
#if defined(ATTNBENCH_MECHANISMS_KERNELS_ELEMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNBENCH_MECHANISMS_KERNELS_ELEMENTS_INL_H_
#undef ATTNBENCH_MECHANISMS_KERNELS_ELEMENTS_INL_H_
#else
#define ATTNBENCH_MECHANISMS_KERNELS_ELEMENTS_INL_H_
#endif
// clang-format on

#include <hwy/contrib/math/math-inl.h>

#include <algorithm>
#include <limits>
#include <numbers>

#include "mechanisms/kernels/kernels.h"
#include "mechanisms/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnbench::HWY_NAMESPACE {
namespace {

// tanh(x) = 2 s / (1 + s^2) with s = tanh(x / 2): what is wrong with s counts
// the less the nearer tanh(x) is to 1. s = x P(x^2) / (2 Q(x^2)) is a minimax
// fit of our own with 0.15 units of 2^-24 left in tanh(x); all coefficients are
// positive, so nothing cancels.
template <class D, class Real = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> FastTanh(D d, hn::Vec<D> x) {
  if constexpr (sizeof(Real) == sizeof(double)) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
    // Highway's plain levels make an integer of a NaN, which is undefined.
    const auto is_nan = hn::IsNaN(x);
    return hn::IfThenElse(is_nan, x,
                          hn::Tanh(d, hn::IfThenZeroElse(is_nan, x)));
#else
    return hn::Tanh(d, x);
#endif
  } else {
    const auto a = hn::Abs(x);
    const auto t = hn::Mul(a, a);
    // p and q are (P - 1) / t and Q - 1: for small x, where P and Q are nearly
    // 1, only the four operations that are not yet small round.
    const auto p =
        hn::MulAdd(hn::Set(d, 0.000114311631f), t, hn::Set(d, 0.02977648f));
    auto q =
        hn::MulAdd(hn::Set(d, 1.23024085e-06f), t, hn::Set(d, 0.00120682956f));
    q = hn::MulAdd(q, t, hn::Set(d, 0.113109767f));
    q = hn::Mul(q, t);
    const auto ap = hn::MulAdd(hn::Mul(a, t), p, a);
    // y = a P Q / (Q^2 + (a P / 2)^2)
    const auto square = hn::Mul(hn::Mul(ap, hn::Set(d, 0.25f)), ap);
    const auto more = hn::MulAdd(hn::Add(q, hn::Set(d, 2.0f)), q, square);
    const auto one = hn::Set(d, 1.0f);
    const auto y = hn::Div(hn::MulAdd(ap, q, ap), hn::Add(more, one));
    // From here on tanh rounds to 1; far above, y would overflow.
    const auto is_one = hn::Ge(a, hn::Set(d, 9.0109f));
    return hn::CopySign(hn::IfThenElse(is_one, one, AtMost(d, one, y)), x);
  }
}

// exp(x) 2^-power, both of which and the result are normal numbers: 2^n exp(r)
// with |r| <= log(2) / 2, exp(r) = 1 + r + r^2 q(r). q is a fit of our own: in
// f32 a minimax one, good to 0.06 units of 2^-24, in f64 at Chebyshev nodes, to
// 0.15 units of 2^-53. NaN stays NaN.
template <class D, class Real = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> ModerateExp(D d, hn::Vec<D> x, int power = 0) {
  constexpr bool kSingle = sizeof(Real) == sizeof(float);
  const hn::RebindToSigned<D> di;
  using Integer = hn::TFromD<decltype(di)>;
  // Adding this leaves n in the last bits.
  const auto magic = hn::Set(d, kSingle ? Real(0x1.8p23) : Real(0x1.8p52));
  const auto shifted =
      hn::MulAdd(x, hn::Set(d, std::numbers::log2e_v<Real>), magic);
  const auto n = hn::Sub(shifted, magic);
  // log(2) comes in two parts, the first of which has few bits: n times it is
  // exact.
  auto r = hn::NegMulAdd(
      n, hn::Set(d, kSingle ? Real(0.693359375) : Real(0x1.62e42feep-1)), x);
  r = hn::NegMulAdd(
      n,
      hn::Set(d, kSingle ? Real(-2.12194440e-4) : Real(0x1.a39ef35793c76p-33)),
      r);
  const auto r2 = hn::Mul(r, r);
  hn::Vec<D> q;
  if constexpr (kSingle) {
    q = hn::Set(d, 0.00138131483f);
    q = hn::MulAdd(q, r, hn::Set(d, 0.00836941041f));
    q = hn::MulAdd(q, r, hn::Set(d, 0.041668456f));
    q = hn::MulAdd(q, r, hn::Set(d, 0.166665152f));
    q = hn::MulAdd(q, r, hn::Set(d, 0.49999994f));
  } else {
    const auto pair = [&](double c0, double c1) HWY_ATTR {
      return hn::MulAdd(hn::Set(d, c1), r, hn::Set(d, c0));
    };
    const auto r4 = hn::Mul(r2, r2);
    const auto low = hn::MulAdd(pair(0.04166666666662416, 0.008333333333330065),
                                r2, pair(0.5, 0.16666666666666669));
    const auto middle =
        hn::MulAdd(pair(2.480152131972762e-05, 2.7557268478279004e-06), r2,
                   pair(0.0013888888917198419, 0.00019841269863041851));
    const auto high = pair(2.762007713646922e-07, 2.51003767988125e-08);
    q = hn::MulAdd(hn::MulAdd(high, r4, middle), r4, low);
  }
  const auto y = hn::Add(hn::MulAdd(r2, q, r), hn::Set(d, Real{1}));
  constexpr int kBias = kSingle ? 127 : 1023;
  constexpr int kMantissaBits = kSingle ? 23 : 52;
  const auto exponent =
      hn::Add(hn::BitCast(di, shifted),
              hn::Set(di, static_cast<Integer>(kBias - power)));
  return hn::Mul(y, hn::BitCast(d, hn::ShiftLeft<kMantissaBits>(exponent)));
}

// exp(x) to 3 ULP for x up to 88 (700 in f64), and 0 below kLeastExponent.
template <class D, class Real = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> FastExp(D d, hn::Vec<D> x) {
  const auto least = hn::Set(d, kLeastExponent<Real>);
  const auto is_zero = hn::Lt(x, least);
  return hn::IfThenZeroElse(is_zero, ModerateExp(d, AtLeast(d, least, x)));
}

// y = f(x) element by element, for any count.
template <class Real, class Function>
void Transform(const Real* x, Index count, Real* y, const Function& f) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  Index k = 0;
  for (; k + lanes <= count; k += lanes) {
    hn::StoreU(f(d, hn::LoadU(d, x + k)), d, y + k);
  }
  if (k < count) {
    StoreTail(d, f(d, LoadTail(d, x + k, count - k)), y + k, count - k);
  }
}

// z = f(x, y) element by element.
template <class Real, class Function>
void Transform(const Real* x, const Real* y, Index count, Real* z,
               const Function& f) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  Index k = 0;
  for (; k + lanes <= count; k += lanes) {
    hn::StoreU(f(hn::LoadU(d, x + k), hn::LoadU(d, y + k)), d, z + k);
  }
  if (k < count) {
    // Missing lanes divide zero by one.
    const auto second = LoadTailOr(d, y + k, count - k, Real{1});
    StoreTail(d, f(LoadTail(d, x + k, count - k), second), z + k, count - k);
  }
}

template <class Real>
void Add(const Real* x, const Real* y, Index count, Real* z) {
  Transform(x, y, count, z,
            [](auto v, auto w) HWY_ATTR { return hn::Add(v, w); });
}

template <class Real>
void Multiply(const Real* x, const Real* y, Index count, Real* z) {
  Transform(x, y, count, z,
            [](auto v, auto w) HWY_ATTR { return hn::Mul(v, w); });
}

template <class Real>
void Scale(Real factor, Index count, Real* x) {
  Transform(x, count, x, [factor](auto d, auto v) HWY_ATTR {
    return hn::Mul(v, hn::Set(d, factor));
  });
}

// exp of minus the magnitude never overflows.
template <class Real>
void Sigmoid(const Real* x, Index count, Real* y, Real* complement) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  const auto one = hn::Set(d, Real{1});
  for (Index k = 0; k < count; k += lanes) {
    const Index size = std::min(lanes, count - k);
    const auto store = [&](auto value, Real* to) HWY_ATTR {
      if (size == lanes) {
        hn::StoreU(value, d, to + k);
      } else {
        StoreTail(d, value, to + k, size);
      }
    };
    const auto v =
        size == lanes ? hn::LoadU(d, x + k) : LoadTail(d, x + k, size);
    const auto z = FastExp(d, hn::Neg(hn::Abs(v)));
    const auto sum = hn::Add(one, z);
    const auto larger = hn::Div(one, sum), smaller = hn::Div(z, sum);
    const auto is_negative = hn::Lt(v, hn::Zero(d));
    store(hn::IfThenElse(is_negative, smaller, larger), y);
    if (complement != nullptr) {
      store(hn::IfThenElse(is_negative, larger, smaller), complement);
    }
  }
}

template <class Real>
void SoftmaxBackward(const Real* alpha, const Real* d, Index count,
                     Real* d_energies) {
  const hn::ScalableTag<double> tag;
  const Index lanes = LanesOf(tag);
  const auto load = [&](const Real* from, Index j) HWY_ATTR {
    return j < count ? LoadDoubles(tag, from + j, count - j) : hn::Zero(tag);
  };
  auto sum0 = hn::Zero(tag), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  const auto add = [&](auto& sum, Index j) HWY_ATTR {
    sum = hn::MulAdd(load(alpha, j), load(d, j), sum);
  };
  for (Index j = 0; j < count; j += 4 * lanes) {
    add(sum0, j);
    add(sum1, j + lanes);
    add(sum2, j + 2 * lanes);
    add(sum3, j + 3 * lanes);
  }
  const auto mean = hn::Set(
      tag, hn::GetLane(hn::SumOfLanes(
               tag, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3)))));
  for (Index j = 0; j < count; j += lanes) {
    StoreDoubles(tag, hn::Mul(load(alpha, j), hn::Sub(load(d, j), mean)),
                 count - j, d_energies + j);
  }
}

// The largest lane. MaxOfLanes of EMU128, clang's plain level, begins with the
// lowest finite number and so finds that among lanes of -infinity.
template <class D, class V>
hn::TFromD<D> LargestLane(D d, V v) {
#if HWY_TARGET == HWY_EMU128
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  return *std::max_element(lanes, lanes + hn::MaxLanes(d));
#else
  return hn::GetLane(hn::MaxOfLanes(d, v));
#endif
}

template <class Real>
Real Largest(const Real* x, Index count) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  if (count < lanes) {
    Real result = -std::numeric_limits<Real>::infinity();
    for (Index k = 0; k < count; ++k) {
      if (x[k] > result) result = x[k];
    }
    return result;
  }
  auto largest = hn::LoadU(d, x);
  for (Index k = lanes; k < count; k += lanes) {
    // The last vector takes some numbers twice.
    largest = hn::Max(largest, hn::LoadU(d, x + std::min(k, count - lanes)));
  }
  return LargestLane(d, largest);
}

template <class Real>
void Range(const Real* x, Index count, Real* smallest, Real* largest) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
  Real least = kInfinity, most = -kInfinity;
  bool any_nan = false;
  if (count < lanes) {
    for (Index k = 0; k < count; ++k) {
      if (x[k] < least) least = x[k];
      if (x[k] > most) most = x[k];
      any_nan = any_nan || std::isnan(x[k]);
    }
  } else {
    auto low = hn::LoadU(d, x);
    auto high = low;
    // Which number Min and Max of NaN give depends on the CPU.
    auto is_nan = hn::IsNaN(low);
    for (Index k = lanes; k < count; k += lanes) {
      // The last vector takes some numbers twice.
      const auto v = hn::LoadU(d, x + std::min(k, count - lanes));
      low = hn::Min(low, v);
      high = hn::Max(high, v);
      is_nan = hn::Or(is_nan, hn::IsNaN(v));
    }
    any_nan = !hn::AllFalse(d, is_nan);
    least = -LargestLane(d, hn::Neg(low));
    most = LargestLane(d, high);
  }
  constexpr Real kNaN = std::numeric_limits<Real>::quiet_NaN();
  *smallest = any_nan ? kNaN : least;
  *largest = any_nan ? kNaN : most;
}

template <class Real>
void ExpScaled(const Real* x, Index count, int power, Real* y) {
  Transform(x, count, y, [power](auto d, auto v) HWY_ATTR {
    return ModerateExp(d, v, power);
  });
}

template <class Real>
Real ExpSum(const Real* energies, Real shift, Index count, Real* weights) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  const auto shift_lanes = hn::Set(d, shift);
  auto sum = hn::Zero(d);
  Index k = 0;
  for (; k + lanes <= count; k += lanes) {
    const auto w = FastExp(d, hn::Sub(hn::LoadU(d, energies + k), shift_lanes));
    hn::StoreU(w, d, weights + k);
    sum = hn::Add(sum, w);
  }
  if (k < count) {
    const auto mask = hn::FirstN(d, static_cast<std::size_t>(count - k));
    // The shift stands in for the missing lanes, so that exp sees no overflow.
    const auto e =
        hn::IfThenElse(mask, LoadTail(d, energies + k, count - k), shift_lanes);
    const auto w =
        hn::IfThenElseZero(mask, FastExp(d, hn::Sub(e, shift_lanes)));
    StoreTail(d, w, weights + k, count - k);
    sum = hn::Add(sum, w);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

}  // namespace
}  // namespace attnbench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
