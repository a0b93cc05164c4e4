// Rows of a memory: energies of a block of them, and their weighted sum.
// clang-format off
#if defined(ATTNBENCH_MECHANISMS_KERNELS_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNBENCH_MECHANISMS_KERNELS_ROWS_INL_H_
#undef ATTNBENCH_MECHANISMS_KERNELS_ROWS_INL_H_
#else
#define ATTNBENCH_MECHANISMS_KERNELS_ROWS_INL_H_
#endif
// clang-format on

#include <algorithm>

#include "mechanisms/kernels/elements-inl.h"
#include "mechanisms/kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attnbench::HWY_NAMESPACE {
namespace {

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
      sum = hn::MulAdd(hn::LoadU(d, v + k), FastTanh(d, x), sum);
    }
    if (k < dim) {
      const auto x = hn::Add(LoadTail(d, query + k, dim - k),
                             LoadTail(d, key + k, dim - k));
      sum = hn::MulAdd(LoadTail(d, v + k, dim - k), FastTanh(d, x), sum);
    }
    energies[j] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

template <class Real>
void AdditiveBackward(const Real* query, const Real* key, Real weight,
                      Index dim, Real* d_query, Real* d_key, Real* d_v) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  const auto w = hn::Set(d, weight);
  Index k = 0;
  for (; k + lanes <= dim; k += lanes) {
    const auto x =
        FastTanh(d, hn::Add(hn::LoadU(d, query + k), hn::LoadU(d, key + k)));
    const auto wx = hn::Mul(w, x);
    const auto slope = hn::NegMulAdd(wx, x, w);
    hn::StoreU(hn::Add(hn::LoadU(d, d_v + k), wx), d, d_v + k);
    hn::StoreU(hn::Add(hn::LoadU(d, d_query + k), slope), d, d_query + k);
    hn::StoreU(hn::Add(hn::LoadU(d, d_key + k), slope), d, d_key + k);
  }
  if (k < dim) {
    const Index n = dim - k;
    const auto x = FastTanh(
        d, hn::Add(LoadTail(d, query + k, n), LoadTail(d, key + k, n)));
    const auto wx = hn::Mul(w, x);
    const auto slope = hn::NegMulAdd(wx, x, w);
    StoreTail(d, hn::Add(LoadTail(d, d_v + k, n), wx), d_v + k, n);
    StoreTail(d, hn::Add(LoadTail(d, d_query + k, n), slope), d_query + k, n);
    StoreTail(d, hn::Add(LoadTail(d, d_key + k, n), slope), d_key + k, n);
  }
}

template <class Real>
void ExpTwice(const Real* x, Real limit, Index count, Real* e) {
  Transform(x, count, e, [limit](auto d, auto v) HWY_ATTR {
    const auto clamped =
        AtLeast(d, hn::Set(d, -limit), AtMost(d, hn::Set(d, limit), v));
    return FastExp(d, hn::Add(clamped, clamped));
  });
}

// 1 + ab, at most so large that a product of two is a number; NaN stays NaN.
template <class D, class Real = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> OneAndProduct(D d, hn::Vec<D> a, hn::Vec<D> b) {
  const auto most = hn::Set(
      d, static_cast<Real>(sizeof(Real) == sizeof(float) ? 0x1p60 : 0x1p500));
  return AtMost(d, most, hn::MulAdd(a, b, hn::Set(d, Real{1})));
}

// Two vectors of terms share a division: v0 / x0 + v1 / x1.
template <class Real>
void FactoredAdditiveRows(const Real* exp_query, const Real* exp_keys,
                          Index row_stride, const Real* v, Index count,
                          Index dim, Real* energies) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  auto all = hn::Zero(d);  // sum of v
  for (Index k = 0; k < dim; k += lanes) {
    all = hn::Add(all, dim - k >= lanes ? hn::LoadU(d, v + k)
                                        : LoadTail(d, v + k, dim - k));
  }
  const Real v_sum = hn::GetLane(hn::SumOfLanes(d, all));
  for (Index j = 0; j < count; ++j) {
    const Real* HWY_RESTRICT key = exp_keys + j * row_stride;
    auto sum = hn::Zero(d);
    Index k = 0;
    for (; k + 2 * lanes <= dim; k += 2 * lanes) {
      const auto x0 =
          OneAndProduct(d, hn::LoadU(d, exp_query + k), hn::LoadU(d, key + k));
      const auto x1 = OneAndProduct(d, hn::LoadU(d, exp_query + k + lanes),
                                    hn::LoadU(d, key + k + lanes));
      const auto terms = hn::MulAdd(hn::LoadU(d, v + k), x1,
                                    hn::Mul(hn::LoadU(d, v + k + lanes), x0));
      sum = hn::Add(sum, hn::Div(terms, hn::Mul(x0, x1)));
    }
    if (k + lanes <= dim) {
      const auto x =
          OneAndProduct(d, hn::LoadU(d, exp_query + k), hn::LoadU(d, key + k));
      sum = hn::Add(sum, hn::Div(hn::LoadU(d, v + k), x));
      k += lanes;
    }
    if (k < dim) {
      const auto x = OneAndProduct(d, LoadTail(d, exp_query + k, dim - k),
                                   LoadTail(d, key + k, dim - k));
      sum = hn::Add(sum, hn::Div(LoadTail(d, v + k, dim - k), x));
    }
    energies[j] = v_sum - 2 * hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

// What one state adds stays in registers through the rows.
template <class Real>
void FactoredAdditiveBackward(const Real* exp_query, const Real* exp_keys,
                              Index row_stride, const Real* weights,
                              Index count, Index dim, Real* quarter_d_query,
                              Real* quarter_d_keys, Real* half_d_v) {
  const hn::ScalableTag<Real> d;
  const Index lanes = LanesOf(d);
  const auto one = hn::Set(d, Real{1});
  Index k = 0;
  for (; k + 2 * lanes <= dim; k += 2 * lanes) {
    const auto a0 = hn::LoadU(d, exp_query + k),
               a1 = hn::LoadU(d, exp_query + k + lanes);
    auto query0 = hn::LoadU(d, quarter_d_query + k),
         query1 = hn::LoadU(d, quarter_d_query + k + lanes);
    auto v0 = hn::LoadU(d, half_d_v + k),
         v1 = hn::LoadU(d, half_d_v + k + lanes);
    for (Index j = 0; j < count; ++j) {
      const auto w = hn::Set(d, weights[j]);
      const Real* HWY_RESTRICT key = exp_keys + j * row_stride + k;
      Real* HWY_RESTRICT to = quarter_d_keys + j * row_stride + k;
      const auto r0 = hn::Div(one, hn::MulAdd(a0, hn::LoadU(d, key), one));
      const auto r1 =
          hn::Div(one, hn::MulAdd(a1, hn::LoadU(d, key + lanes), one));
      const auto wr0 = hn::Mul(w, r0), wr1 = hn::Mul(w, r1);
      const auto slope0 = hn::NegMulAdd(wr0, r0, wr0),
                 slope1 = hn::NegMulAdd(wr1, r1, wr1);
      v0 = hn::Add(v0, wr0);
      v1 = hn::Add(v1, wr1);
      query0 = hn::Add(query0, slope0);
      query1 = hn::Add(query1, slope1);
      hn::StoreU(hn::Add(hn::LoadU(d, to), slope0), d, to);
      hn::StoreU(hn::Add(hn::LoadU(d, to + lanes), slope1), d, to + lanes);
    }
    hn::StoreU(query0, d, quarter_d_query + k);
    hn::StoreU(query1, d, quarter_d_query + k + lanes);
    hn::StoreU(v0, d, half_d_v + k);
    hn::StoreU(v1, d, half_d_v + k + lanes);
  }
  for (; k < dim; k += lanes) {
    const Index size = std::min(lanes, dim - k);
    const auto load = [&](const Real* from) HWY_ATTR {
      return size == lanes ? hn::LoadU(d, from) : LoadTail(d, from, size);
    };
    const auto store = [&](auto value, Real* to) HWY_ATTR {
      if (size == lanes) {
        hn::StoreU(value, d, to);
      } else {
        StoreTail(d, value, to, size);
      }
    };
    const auto a = load(exp_query + k);
    auto query = load(quarter_d_query + k);
    auto v = load(half_d_v + k);
    for (Index j = 0; j < count; ++j) {
      const auto r =
          hn::Div(one, hn::MulAdd(a, load(exp_keys + j * row_stride + k), one));
      const auto wr = hn::Mul(hn::Set(d, weights[j]), r);
      const auto slope = hn::NegMulAdd(wr, r, wr);
      v = hn::Add(v, wr);
      query = hn::Add(query, slope);
      Real* const to = quarter_d_keys + j * row_stride + k;
      store(hn::Add(load(to), slope), to);
    }
    store(query, quarter_d_query + k);
    store(v, half_d_v + k);
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

}  // namespace
}  // namespace attnbench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
