// Rows of a memory: energies of a block of them, and their weighted sum.
// clang-format off
#if defined(ATTNBENCH_MECHANISMS_KERNELS_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNBENCH_MECHANISMS_KERNELS_ROWS_INL_H_
#undef ATTNBENCH_MECHANISMS_KERNELS_ROWS_INL_H_
#else
#define ATTNBENCH_MECHANISMS_KERNELS_ROWS_INL_H_
#endif
// clang-format on

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
