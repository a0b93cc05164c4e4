// Eqs 2 and 3 of MAD over a run of entries, in scalar loops and a wider type:
// what the references of soft attention and of both chunkwise mechanisms end
// in.
#ifndef ATTNBENCH_MECHANISMS_SOFT_REFERENCE_SOFTMAX_H_
#define ATTNBENCH_MECHANISMS_SOFT_REFERENCE_SOFTMAX_H_

#include <vector>

#include "mechanisms/energy/energy_reference.h"

namespace attnbench {

// The memory as a list of entries.
template <class Real>
struct ReferenceMemory {
  std::vector<std::span<const Real>> h;
  bool closed = false;

  void Append(const MatrixView<const Real>& rows);
  Index T() const { return static_cast<Index>(h.size()); }
};

// Writes c = sum over j in [begin, end) of softmax(e(i, :))_j h_j, zeros where
// the run is empty, and returns the weights.
template <class Real>
std::vector<Real> ReferenceSoftmax(const ReferenceEnergy<Real>& energy,
                                   const ReferenceMemory<Real>& memory, Index i,
                                   Index begin, Index end,
                                   std::span<const Real> s, std::span<Real> c);

}  // namespace attnbench

#endif  // ATTNBENCH_MECHANISMS_SOFT_REFERENCE_SOFTMAX_H_
