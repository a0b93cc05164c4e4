#include "mechanisms/kernels/kernels.h"

#include <cstring>
#include <limits>

#include "mechanisms/common/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mechanisms/kernels/kernels.cc"
// foreach_target.h must come before highway.h.
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace attnbench::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Index = std::int64_t;

// Lanes of the tag D as a signed number.
template <class D>
Index LanesOf(D d) {
  return static_cast<Index>(hn::Lanes(d));
}

// The first `count` < N numbers at `from`, zeros after them. Reads no others: a
// masked load where the level's cannot fault, else by way of the stack.
template <class D, class Real = hn::TFromD<D>>
hn::Vec<D> LoadTail(D d, const Real* from, Index count) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN Real lanes[hn::MaxLanes(D())] = {};
  std::memcpy(lanes, from, static_cast<std::size_t>(count) * sizeof(Real));
  return hn::Load(d, lanes);
#else
  return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d,
                        from);
#endif
}

template <class D, class Real = hn::TFromD<D>>
void StoreTail(D d, hn::Vec<D> value, Real* to, Index count) {
  HWY_ALIGN Real lanes[hn::MaxLanes(D())];
  hn::Store(value, d, lanes);
  std::memcpy(to, lanes, static_cast<std::size_t>(count) * sizeof(Real));
}

// Four partial sums hide the latency of the fused multiply-add; their order is
// the same here and in DotTwoRows.
template <class Real>
Real DotOneRow(const Real* HWY_RESTRICT query, const Real* HWY_RESTRICT row,
               Index dim) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  auto sum2 = hn::Zero(d);
  auto sum3 = hn::Zero(d);
  Index k = 0;
  for (; k + 4 * lanes <= dim; k += 4 * lanes) {
    const Real* q = query + k;
    const Real* h = row + k;
    sum0 = hn::MulAdd(hn::LoadU(d, q), hn::LoadU(d, h), sum0);
    sum1 = hn::MulAdd(hn::LoadU(d, q + lanes), hn::LoadU(d, h + lanes), sum1);
    sum2 = hn::MulAdd(hn::LoadU(d, q + 2 * lanes), hn::LoadU(d, h + 2 * lanes),
                      sum2);
    sum3 = hn::MulAdd(hn::LoadU(d, q + 3 * lanes), hn::LoadU(d, h + 3 * lanes),
                      sum3);
  }
  for (; k + lanes <= dim; k += lanes) {
    sum0 = hn::MulAdd(hn::LoadU(d, query + k), hn::LoadU(d, row + k), sum0);
  }
  if (k < dim) {
    sum1 = hn::MulAdd(LoadTail(d, query + k, dim - k),
                      LoadTail(d, row + k, dim - k), sum1);
  }
  const auto sum = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// Two rows at once load the query once for both.
template <class Real>
void DotTwoRows(const Real* HWY_RESTRICT query, const Real* HWY_RESTRICT row_a,
                const Real* HWY_RESTRICT row_b, Index dim,
                Real* HWY_RESTRICT energies) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  auto a0 = hn::Zero(d);
  auto a1 = hn::Zero(d);
  auto a2 = hn::Zero(d);
  auto a3 = hn::Zero(d);
  auto b0 = hn::Zero(d);
  auto b1 = hn::Zero(d);
  auto b2 = hn::Zero(d);
  auto b3 = hn::Zero(d);
  Index k = 0;
  for (; k + 4 * lanes <= dim; k += 4 * lanes) {
    const auto q0 = hn::LoadU(d, query + k);
    const auto q1 = hn::LoadU(d, query + k + lanes);
    const auto q2 = hn::LoadU(d, query + k + 2 * lanes);
    const auto q3 = hn::LoadU(d, query + k + 3 * lanes);
    a0 = hn::MulAdd(q0, hn::LoadU(d, row_a + k), a0);
    b0 = hn::MulAdd(q0, hn::LoadU(d, row_b + k), b0);
    a1 = hn::MulAdd(q1, hn::LoadU(d, row_a + k + lanes), a1);
    b1 = hn::MulAdd(q1, hn::LoadU(d, row_b + k + lanes), b1);
    a2 = hn::MulAdd(q2, hn::LoadU(d, row_a + k + 2 * lanes), a2);
    b2 = hn::MulAdd(q2, hn::LoadU(d, row_b + k + 2 * lanes), b2);
    a3 = hn::MulAdd(q3, hn::LoadU(d, row_a + k + 3 * lanes), a3);
    b3 = hn::MulAdd(q3, hn::LoadU(d, row_b + k + 3 * lanes), b3);
  }
  for (; k + lanes <= dim; k += lanes) {
    const auto q = hn::LoadU(d, query + k);
    a0 = hn::MulAdd(q, hn::LoadU(d, row_a + k), a0);
    b0 = hn::MulAdd(q, hn::LoadU(d, row_b + k), b0);
  }
  if (k < dim) {
    const auto q = LoadTail(d, query + k, dim - k);
    a1 = hn::MulAdd(q, LoadTail(d, row_a + k, dim - k), a1);
    b1 = hn::MulAdd(q, LoadTail(d, row_b + k, dim - k), b1);
  }
  const auto a = hn::Add(hn::Add(a0, a1), hn::Add(a2, a3));
  const auto b = hn::Add(hn::Add(b0, b1), hn::Add(b2, b3));
  energies[0] = hn::GetLane(hn::SumOfLanes(d, a));
  energies[1] = hn::GetLane(hn::SumOfLanes(d, b));
}

template <class Real>
void DotRows(const Real* query, const Real* rows, Index row_stride, Index count,
             Index dim, Real* energies) {
  Index j = 0;
  for (; j + 2 <= count; j += 2) {
    const Real* row = rows + j * row_stride;
    DotTwoRows(query, row, row + row_stride, dim, energies + j);
  }
  if (j < count) {
    energies[j] = DotOneRow(query, rows + j * row_stride, dim);
  }
}

template <class Real>
void AdditiveRows(const Real* query, const Real* keys, Index row_stride,
                  const Real* v, Index count, Index dim, Real* energies) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  for (Index j = 0; j < count; ++j) {
    const Real* HWY_RESTRICT key = keys + j * row_stride;
    auto sum = hn::Zero(d);
    Index k = 0;
    for (; k + lanes <= dim; k += lanes) {
      const auto x = hn::Add(hn::LoadU(d, query + k), hn::LoadU(d, key + k));
      sum = hn::MulAdd(hn::LoadU(d, v + k), hn::Tanh(d, x), sum);
    }
    if (k < dim) {
      const auto x = hn::Add(LoadTail(d, query + k, dim - k),
                             LoadTail(d, key + k, dim - k));
      sum = hn::MulAdd(LoadTail(d, v + k, dim - k), hn::Tanh(d, x), sum);
    }
    energies[j] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

// Eight chains of fused multiply-adds, each over one vector of the context,
// keep the unit busy while each element is still summed row after row.
template <class Real>
void AddRows(const Real* weights, const Real* rows, Index row_stride,
             Index count, Index dim, Real* HWY_RESTRICT context) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  Index k = 0;
  for (; k + 8 * lanes <= dim; k += 8 * lanes) {
    Real* c = context + k;
    auto c0 = hn::LoadU(d, c);
    auto c1 = hn::LoadU(d, c + lanes);
    auto c2 = hn::LoadU(d, c + 2 * lanes);
    auto c3 = hn::LoadU(d, c + 3 * lanes);
    auto c4 = hn::LoadU(d, c + 4 * lanes);
    auto c5 = hn::LoadU(d, c + 5 * lanes);
    auto c6 = hn::LoadU(d, c + 6 * lanes);
    auto c7 = hn::LoadU(d, c + 7 * lanes);
    for (Index j = 0; j < count; ++j) {
      const auto w = hn::Set(d, weights[j]);
      const Real* HWY_RESTRICT h = rows + j * row_stride + k;
      c0 = hn::MulAdd(w, hn::LoadU(d, h), c0);
      c1 = hn::MulAdd(w, hn::LoadU(d, h + lanes), c1);
      c2 = hn::MulAdd(w, hn::LoadU(d, h + 2 * lanes), c2);
      c3 = hn::MulAdd(w, hn::LoadU(d, h + 3 * lanes), c3);
      c4 = hn::MulAdd(w, hn::LoadU(d, h + 4 * lanes), c4);
      c5 = hn::MulAdd(w, hn::LoadU(d, h + 5 * lanes), c5);
      c6 = hn::MulAdd(w, hn::LoadU(d, h + 6 * lanes), c6);
      c7 = hn::MulAdd(w, hn::LoadU(d, h + 7 * lanes), c7);
    }
    hn::StoreU(c0, d, c);
    hn::StoreU(c1, d, c + lanes);
    hn::StoreU(c2, d, c + 2 * lanes);
    hn::StoreU(c3, d, c + 3 * lanes);
    hn::StoreU(c4, d, c + 4 * lanes);
    hn::StoreU(c5, d, c + 5 * lanes);
    hn::StoreU(c6, d, c + 6 * lanes);
    hn::StoreU(c7, d, c + 7 * lanes);
  }
  for (; k + lanes <= dim; k += lanes) {
    auto sum = hn::LoadU(d, context + k);
    for (Index j = 0; j < count; ++j) {
      sum = hn::MulAdd(hn::Set(d, weights[j]),
                       hn::LoadU(d, rows + j * row_stride + k), sum);
    }
    hn::StoreU(sum, d, context + k);
  }
  if (k < dim) {
    auto sum = LoadTail(d, context + k, dim - k);
    for (Index j = 0; j < count; ++j) {
      sum = hn::MulAdd(hn::Set(d, weights[j]),
                       LoadTail(d, rows + j * row_stride + k, dim - k), sum);
    }
    StoreTail(d, sum, context + k, dim - k);
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

template <class Real>
void Scale(Real factor, Index count, Real* x) {
  Transform(x, count, x, [factor](auto d, auto v) HWY_ATTR {
    return hn::Mul(v, hn::Set(d, factor));
  });
}

template <class Real>
void Sigmoid(const Real* x, Index count, Real* y) {
  // exp of minus the magnitude never overflows.
  Transform(x, count, y, [](auto d, auto v) HWY_ATTR {
    const auto one = hn::Set(d, Real{1});
    const auto z = hn::Exp(d, hn::Neg(hn::Abs(v)));
    const auto numerator = hn::IfThenElse(hn::Lt(v, hn::Zero(d)), z, one);
    return hn::Div(numerator, hn::Add(one, z));
  });
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
Real ExpSum(const Real* energies, Real shift, Index count, Real* weights) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  const auto shift_lanes = hn::Set(d, shift);
  auto sum = hn::Zero(d);
  Index k = 0;
  for (; k + lanes <= count; k += lanes) {
    const auto w = hn::Exp(d, hn::Sub(hn::LoadU(d, energies + k), shift_lanes));
    hn::StoreU(w, d, weights + k);
    sum = hn::Add(sum, w);
  }
  if (k < count) {
    const auto mask = hn::FirstN(d, static_cast<std::size_t>(count - k));
    // The shift stands in for the missing lanes, so that exp sees no overflow.
    const auto e =
        hn::IfThenElse(mask, LoadTail(d, energies + k, count - k), shift_lanes);
    const auto w =
        hn::IfThenElseZero(mask, hn::Exp(d, hn::Sub(e, shift_lanes)));
    StoreTail(d, w, weights + k, count - k);
    sum = hn::Add(sum, w);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

template <class Real>
const Kernels<Real>* Table() {
  static constexpr Kernels<Real> table = {
      &DotRows<Real>, &AdditiveRows<Real>, &AddRows<Real>, &Scale<Real>,
      &Largest<Real>, &ExpSum<Real>,       &Sigmoid<Real>};
  return &table;
}

// HWY_EXPORT takes functions, not templates.
const Kernels<float>* SingleTable() { return Table<float>(); }
const Kernels<double>* DoubleTable() { return Table<double>(); }

}  // namespace
}  // namespace attnbench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnbench {
namespace {

HWY_EXPORT(SingleTable);
HWY_EXPORT(DoubleTable);

template <class Real>
const Kernels<Real>& DispatchedTable() {
  if constexpr (sizeof(Real) == sizeof(float)) {
    return *HWY_DYNAMIC_DISPATCH(SingleTable)();
  } else {
    return *HWY_DYNAMIC_DISPATCH(DoubleTable)();
  }
}

// Lets the dispatcher see only `targets` (0: all that there are).
void RestrictTargets(std::int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

std::vector<std::int64_t> Targets() {
  return hwy::SupportedAndGeneratedTargets();
}

}  // namespace

template <class Real>
const Kernels<Real>& BestKernels() {
  static const Kernels<Real>& best = [&]() -> const Kernels<Real>& {
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return DispatchedTable<Real>();
  }();
  return best;
}

std::vector<std::string> SimdLevels() {
  std::vector<std::string> names;
  for (const std::int64_t target : Targets()) {
    names.emplace_back(hwy::TargetName(target));
  }
  return names;
}

template <class Real>
const Kernels<Real>& KernelsAt(const std::string& level) {
  BestKernels<Real>();  // chosen before the view is narrowed
  for (const std::int64_t target : Targets()) {
    if (hwy::TargetName(target) != level) continue;
    RestrictTargets(target);
    const Kernels<Real>& kernels = DispatchedTable<Real>();
    RestrictTargets(0);
    return kernels;
  }
  CheckFailed(__FILE__, __LINE__, "no SIMD level " + level);
}

std::string SimdName() { return SimdLevels().front(); }

template const Kernels<float>& BestKernels();
template const Kernels<double>& BestKernels();
template const Kernels<float>& KernelsAt(const std::string&);
template const Kernels<double>& KernelsAt(const std::string&);

}  // namespace attnbench
#endif  // HWY_ONCE
