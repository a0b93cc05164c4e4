#include "mechanisms/soft/reference_softmax.h"

#include <algorithm>
#include <cmath>

namespace attnbench {

template <class Real>
void ReferenceMemory<Real>::Append(const MatrixView<const Real>& rows) {
  for (Index j = 0; j < rows.rows; ++j) h.push_back(rows.Row(j));
}

template <class Real>
std::vector<Real> ReferenceSoftmax(const ReferenceEnergy<Real>& energy,
                                   const ReferenceMemory<Real>& memory, Index i,
                                   Index begin, Index end,
                                   std::span<const Real> s, std::span<Real> c) {
  std::vector<Wider<Real>> e;
  Wider<Real> largest = -INFINITY;
  for (Index j = begin; j < end; ++j) {
    e.push_back(energy(i, j, s, memory.h[Size(j)]).value);
    largest = std::max(largest, e.back());
  }
  // Numerator and denominator of eq 2 are both divided by exp(largest).
  Wider<Real> sum = 0;
  for (const Wider<Real> e_j : e) sum += std::exp(e_j - largest);
  std::vector<Real> weights;
  std::vector<Wider<Real>> context(c.size(), 0);
  for (Index j = begin; j < end; ++j) {
    const Wider<Real> weight = std::exp(e[Size(j - begin)] - largest) / sum;
    weights.push_back(static_cast<Real>(weight));
    for (std::size_t k = 0; k < c.size(); ++k) {
      context[k] += weight * memory.h[Size(j)][k];
    }
  }
  for (std::size_t k = 0; k < c.size(); ++k) {
    c[k] = static_cast<Real>(context[k]);
  }
  return weights;
}

template struct ReferenceMemory<float>;
template struct ReferenceMemory<double>;
template std::vector<float> ReferenceSoftmax(const ReferenceEnergy<float>&,
                                             const ReferenceMemory<float>&,
                                             Index, Index, Index,
                                             std::span<const float>,
                                             std::span<float>);
template std::vector<double> ReferenceSoftmax(const ReferenceEnergy<double>&,
                                              const ReferenceMemory<double>&,
                                              Index, Index, Index,
                                              std::span<const double>,
                                              std::span<double>);

}  // namespace attnbench
