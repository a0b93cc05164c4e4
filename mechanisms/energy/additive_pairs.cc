#include "mechanisms/energy/additive_pairs.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include "mechanisms/common/eigen_views.h"
#include "mechanisms/kernels/kernels.h"

namespace attnbench {
namespace {

// Keys whose gradients are taken together, so that they stay in the cache.
constexpr Index kBlock = 8;
// States after which what they gave to keys and to v moves to a sum in f64: in
// f32 it would round more coarsely with every further state.
constexpr Index kStates = 64;

// From so many states on, factors of a key cost less than each tanh.
constexpr Index kFewestForFactors = 4;

// Replaces a key by exp of twice it, unless that is no number.
template <class Real>
bool Factor(Index dim, Real* key) {
  const Kernels<Real>& kernels = BestKernels<Real>();
  Real least, greatest;
  kernels.range(key, dim, &least, &greatest);
  if (!(greatest <= kMostKey<Real> && least >= -kMostKey<Real>)) return false;
  kernels.exp_twice(key, kMostKey<Real>, dim, key);
  return true;
}

// Moves an array to a sum of such.
template <class Real>
void MoveTo(std::span<double> sum, std::span<Real> array) {
  for (std::size_t k = 0; k < array.size(); ++k) {
    sum[k] += static_cast<double>(array[k]);
    array[k] = 0;
  }
}

}  // namespace

template <class Real>
AdditiveKeys<Real>::AdditiveKeys(std::span<const Real> v, Index expected_length,
                                 bool factored)
    : v_(v),
      dim_(std::ssize(v)),
      factored_(factored && std::ranges::all_of(v, [](Real x) {
                  return std::abs(x) <= kMostV<Real>;
                })) {
  keys_.reserve(Size(expected_length * dim_));
}

template <class Real>
MatrixView<Real> AdditiveKeys<Real>::Extend(Index count) {
  const std::size_t old_size = keys_.size();
  keys_.resize(old_size + Size(count * dim_));
  return {keys_.data() + old_size, count, dim_};
}

template <class Real>
void AdditiveKeys<Real>::Finish() {
  if (!factored_) return;
  for (std::size_t at = is_factored_.size() * Size(dim_); at < keys_.size();
       at += Size(dim_)) {
    is_factored_.push_back(Factor(dim_, keys_.data() + at));
  }
}

template <class Real>
void AdditiveKeys<Real>::Evaluate(const Real* query, const Real* exp_query,
                                  Index first, Index count,
                                  Real* energies) const {
  const Kernels<Real>& kernels = BestKernels<Real>();
  const Real* const v = v_.data();
  if (!factored_) {
    return kernels.additive_rows(query, Row(first), dim_, v, count, dim_,
                                 energies);
  }
  const Index end = first + count;
  while (first < end) {
    const bool is_factored = is_factored_[Size(first)];
    Index next = first + 1;
    while (next < end && is_factored_[Size(next)] == is_factored) ++next;
    if (is_factored) {
      kernels.factored_additive_rows(exp_query, Row(first), dim_, v,
                                     next - first, dim_, energies);
    } else {
      kernels.additive_rows(query, Row(first), dim_, v, next - first, dim_,
                            energies);
    }
    energies += next - first;
    first = next;
  }
}

template <class Real>
void FactorQueries(Index count, Index dim, const Real* queries,
                   Real* exp_queries) {
  BestKernels<Real>().exp_twice(queries, kMostQuery<Real>, count * dim,
                                exp_queries);
}

template <class Real>
AdditivePairs<Real>::AdditivePairs(std::span<const Real> v,
                                   const MatrixView<const Real>& queries,
                                   const MatrixView<const Real>& keys)
    : queries_(queries),
      keys_(v, keys.rows, queries.rows >= kFewestForFactors) {
  const MatrixView<Real> own = keys_.Extend(keys.rows);
  for (Index j = 0; j < keys.rows; ++j) {
    std::ranges::copy(keys.Row(j), own.Row(j).begin());
  }
  keys_.Finish();
  if (!keys_.factored()) return;
  exp_queries_.resize(Size(queries.rows * queries.cols));
  FactorQueries(queries.rows, queries.cols, queries.data, exp_queries_.data());
}

// In the letters of factored_additive_backward x = 1 - 2 r and
// 1 - x^2 = 4 (r - r^2).
template <class Real>
void AddAdditivePairs(const MatrixView<const Real>& queries,
                      const MatrixView<Real>& keys,
                      const MatrixView<const Real>& G,
                      const MatrixView<Real>& d_queries,
                      const MatrixView<Real>& d_keys, Real* d_v) {
  const Kernels<Real>& kernels = BestKernels<Real>();
  const Index dim = queries.cols;
  Buffer<Real> factors(Size(queries.rows * dim)), quarters(factors.size());
  const MatrixView<Real> exp_queries(factors.data(), queries.rows, dim);
  const MatrixView<Real> quarter_d_queries(quarters.data(), queries.rows, dim);
  FactorQueries(queries.rows, dim, queries.data, factors.data());
  // Each block has a sum of its own first, which rounds less often than one
  // long sum.
  Buffer<Real> of_block(Size(dim));
  VectorMap<Real> block_sum(of_block.data(), dim);
  VectorMap<Real> sum(d_v, dim);
  const bool many = queries.rows > kStates;
  Buffer<double> moved(many ? Size((kBlock + 1) * dim) : 0);
  for (Index j = 0; j < keys.rows;) {
    Index count = 0;  // of keys that are replaced by their factors
    while (count < kBlock && j + count < keys.rows &&
           Factor(dim, keys.Row(j + count).data())) {
      ++count;
    }
    const bool factored = count > 0;
    count = std::max(count, Index{1});
    block_sum.setZero();
    const std::span d_block(d_keys.Row(j).data(), Size(count * dim));
    const auto of_keys = std::span(moved).first(many ? d_block.size() : 0),
               of_v = std::span(moved).last(many ? of_block.size() : 0);
    std::ranges::fill(moved, 0.0);
    const auto move = [&] {
      MoveTo<Real>(of_keys, d_block);
      MoveTo<Real>(of_v, of_block);
    };
    double weights = 0;
    for (Index i = 0; i < queries.rows; ++i) {
      if (i > 0 && i % kStates == 0) move();
      if (factored) {
        const auto w = G.Row(i).subspan(Size(j), Size(count));
        if (std::ranges::all_of(w, [](Real x) { return x == 0; })) continue;
        kernels.factored_additive_backward(
            exp_queries.Row(i).data(), keys.Row(j).data(), dim, w.data(), count,
            dim, quarter_d_queries.Row(i).data(), d_keys.Row(j).data(),
            of_block.data());
        for (const Real x : w) weights += x;
      } else {
        kernels.additive_backward(queries.Row(i).data(), keys.Row(j).data(),
                                  G(i, j), dim, d_queries.Row(i).data(),
                                  d_keys.Row(j).data(), of_block.data());
      }
    }
    if (many) {
      move();
      const auto round = [](double x) { return static_cast<Real>(x); };
      std::ranges::transform(of_keys, d_block.begin(), round);
      std::ranges::transform(of_v, of_block.begin(), round);
    }
    if (factored) {
      sum.array() += static_cast<Real>(weights) - 2 * block_sum.array();
      kernels.scale(4, count * dim, d_keys.Row(j).data());
    } else {
      sum += block_sum;
    }
    j += count;
  }
  Map(d_queries) += 4 * Map(quarter_d_queries);
}

template class AdditiveKeys<float>;
template class AdditivePairs<float>;
template void FactorQueries(Index, Index, const float*, float*);
template void AddAdditivePairs(const MatrixView<const float>&,
                               const MatrixView<float>&,
                               const MatrixView<const float>&,
                               const MatrixView<float>&,
                               const MatrixView<float>&, float*);
template class AdditiveKeys<double>;
template class AdditivePairs<double>;
template void FactorQueries(Index, Index, const double*, double*);
template void AddAdditivePairs(const MatrixView<const double>&,
                               const MatrixView<double>&,
                               const MatrixView<const double>&,
                               const MatrixView<double>&,
                               const MatrixView<double>&, double*);

}  // namespace attnbench
