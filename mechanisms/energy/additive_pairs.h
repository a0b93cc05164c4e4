// Additive energies where each state meets many keys and each key many states:
// of projected states q = W s and keys k = V h + b,
//
//   e(i, j) = v . tanh(q(i) + k(j))                                 (MAD eq 15)
//
// They use the factors of energy.h. A key whose factors overflow keeps its
// tanh.
#ifndef ATTNBENCH_MECHANISMS_ENERGY_ADDITIVE_PAIRS_H_
#define ATTNBENCH_MECHANISMS_ENERGY_ADDITIVE_PAIRS_H_

#include <span>

#include "mechanisms/common/array.h"

namespace attnbench {

// Holds keys [d] one after another, for a v [d] that outlives this.
template <class Real>
class AdditiveKeys {
 public:
  // Keys stay as they are unless they are to be `factored` and v allows it.
  AdditiveKeys(std::span<const Real> v, Index expected_length, bool factored);
  bool factored() const { return factored_; }
  // Makes room for `count` more keys [count, d]: whoever calls it writes them,
  // and calls Finish.
  MatrixView<Real> Extend(Index count);
  void Finish();
  // energies[n] = v . tanh(q + k(first + n)) for n in [0, count). Where keys
  // are factored `exp_query` holds exp of twice q, by FactorQueries.
  void Evaluate(const Real* query, const Real* exp_query, Index first,
                Index count, Real* energies) const;

 private:
  const Real* Row(Index j) const { return keys_.data() + j * dim_; }

  const std::span<const Real> v_;
  const Index dim_;
  const bool factored_;
  UnsetBuffer<Real> keys_;    // or exp of twice them
  Buffer<char> is_factored_;  // whether it is that, where factored
};

// Writes exp of twice `queries` [count, d], which lie one after another.
template <class Real>
void FactorQueries(Index count, Index dim, const Real* queries,
                   Real* exp_queries);

// Energies of any pair of projected states [U, d] and keys [T, d]. Rows of
// states lie one after another, and outlive this.
template <class Real>
class AdditivePairs {
 public:
  AdditivePairs(std::span<const Real> v, const MatrixView<const Real>& queries,
                const MatrixView<const Real>& keys);
  // energies[n] = e(i, first + n) for n in [0, count).
  void Evaluate(Index i, Index first, Index count, Real* energies) const {
    keys_.Evaluate(
        queries_.Row(i).data(),
        keys_.factored() ? exp_queries_.data() + i * queries_.cols : nullptr,
        first, count, energies);
  }

 private:
  const MatrixView<const Real> queries_;
  AdditiveKeys<Real> keys_;
  UnsetBuffer<Real> exp_queries_;  // where factored
};

// Adds, with x = tanh(q(i) + k(j)) and G = dL/d energies [U, T], what all pairs
// give: G(i, j) x to d_v [d], and G(i, j) (1 - x^2), which lacks the factor v,
// to row i of d_queries [U, d] and row j of d_keys [T, d], which is zero
// before. Rows lie one after another in all arrays but G. The keys are
// overwritten.
template <class Real>
void AddAdditivePairs(const MatrixView<const Real>& queries,
                      const MatrixView<Real>& keys,
                      const MatrixView<const Real>& G,
                      const MatrixView<Real>& d_queries,
                      const MatrixView<Real>& d_keys, Real* d_v);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_ENERGY_ADDITIVE_PAIRS_H_
