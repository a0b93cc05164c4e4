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

#include <limits>

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
    return hn::Tanh(d, x);
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
    return hn::CopySign(hn::IfThenElse(is_one, one, hn::Min(y, one)), x);
  }
}

// exp(x) to 3 ULP for x up to 88, 0 where that is no normal number. In f32 it
// is 2^n exp(r) with |r| <= log(2) / 2, exp(r) = 1 + r + r^2 q(r); q is a
// minimax fit of our own, good to 0.06 units of 2^-24.
template <class D, class Real = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> FastExp(D d, hn::Vec<D> x) {
  if constexpr (sizeof(Real) == sizeof(double)) {
    return hn::Exp(d, x);
  } else {
    const hn::RebindToSigned<D> di;
    const auto least = hn::Set(d, -87.5f);
    const auto is_zero = hn::Lt(x, least);
    x = hn::Max(least, x);  // n stays an exponent, NaN stays NaN
    const auto n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504f)));
    // log(2) comes in two parts, the first of which has few bits: n times it is
    // exact.
    auto r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
    r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
    auto q = hn::Set(d, 0.00138131483f);
    q = hn::MulAdd(q, r, hn::Set(d, 0.00836941041f));
    q = hn::MulAdd(q, r, hn::Set(d, 0.041668456f));
    q = hn::MulAdd(q, r, hn::Set(d, 0.166665152f));
    q = hn::MulAdd(q, r, hn::Set(d, 0.49999994f));
    const auto y = hn::Add(hn::MulAdd(hn::Mul(r, r), q, r), hn::Set(d, 1.0f));
    const auto exponent = hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127));
    const auto power = hn::BitCast(d, hn::ShiftLeft<23>(exponent));
    return hn::IfThenZeroElse(is_zero, hn::Mul(y, power));
  }
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
void Divide(const Real* x, const Real* y, Index count, Real* z) {
  Transform(x, y, count, z,
            [](auto v, auto w) HWY_ATTR { return hn::Div(v, w); });
}

template <class Real>
void Scale(Real factor, Index count, Real* x) {
  Transform(x, count, x, [factor](auto d, auto v) HWY_ATTR {
    return hn::Mul(v, hn::Set(d, factor));
  });
}

template <bool Complement, class Real>
void Sigmoids(const Real* x, Index count, Real* y) {
  // exp of minus the magnitude never overflows.
  Transform(x, count, y, [](auto d, auto v) HWY_ATTR {
    const auto one = hn::Set(d, Real{1});
    const auto z = FastExp(d, hn::Neg(hn::Abs(v)));
    const auto is_small =
        Complement ? hn::Ge(v, hn::Zero(d)) : hn::Lt(v, hn::Zero(d));
    return hn::Div(hn::IfThenElse(is_small, z, one), hn::Add(one, z));
  });
}

template <class Real>
void Sigmoid(const Real* x, Index count, Real* y, Real* complement) {
  if (complement != nullptr) Sigmoids<true>(x, count, complement);
  Sigmoids<false>(x, count, y);
}

template <class Real>
Real Largest(const Real* x, Index count) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  auto largest = hn::Set(d, -std::numeric_limits<Real>::infinity());
  Index k = 0;
  for (; k + lanes <= count; k += lanes) {
    largest = hn::Max(largest, hn::LoadU(d, x + k));
  }
  // clang 14 takes a reduction of infinities for one of finite numbers.
  Real result = k == 0 ? -std::numeric_limits<Real>::infinity()
                       : hn::GetLane(hn::MaxOfLanes(d, largest));
  for (; k < count; ++k) {
    if (x[k] > result) result = x[k];
  }
  return result;
}

template <class Real>
Real Smallest(const Real* x, Index count) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  auto smallest = hn::Set(d, std::numeric_limits<Real>::infinity());
  Index k = 0;
  for (; k + lanes <= count; k += lanes) {
    smallest = hn::Min(smallest, hn::LoadU(d, x + k));
  }
  Real result = k == 0 ? std::numeric_limits<Real>::infinity()
                       : hn::GetLane(hn::MinOfLanes(d, smallest));
  for (; k < count; ++k) {
    if (x[k] < result) result = x[k];
  }
  return result;
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
