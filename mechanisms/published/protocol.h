// One output of the two mechanisms of the authors' benchmark program (MAD
// appendix F), re-created: Eigen, double precision, the memory [T, d] stored
// column by column, no optimisation of ours. protocol.cc is compiled twice,
// without optimisation as the authors compiled theirs and with -O3, because the
// published 4x to 40x depends on that flag. It allocates its temporaries as
// Eigen does, outside the counted allocator.
#ifndef ATTNBENCH_MECHANISMS_PUBLISHED_PROTOCOL_H_
#define ATTNBENCH_MECHANISMS_PUBLISHED_PROTOCOL_H_

#include <cstdint>

namespace attnbench::published {

// Element (j, k) of the memory is at data[j + k * column_stride].
struct ColumnFirstMemory {
  const double* data;
  std::int64_t length;
  std::int64_t dim;
  std::int64_t column_stride;
};

// MAD eqs 2 and 3 into context [d].
using SoftStep = void (*)(const ColumnFirstMemory& memory, const double* state,
                          double* context);

// MAD algorithm 1 from entry `position` on, which becomes the chosen entry;
// p >= 0.5 chooses, and the last entry is chosen unseen. Returns the number of
// energies evaluated.
using MonotonicStep = std::int64_t (*)(const ColumnFirstMemory& memory,
                                       const double* state,
                                       std::int64_t* position, double* context);

void SoftStepO0(const ColumnFirstMemory& memory, const double* state,
                double* context);
void SoftStepO3(const ColumnFirstMemory& memory, const double* state,
                double* context);
std::int64_t MonotonicStepO0(const ColumnFirstMemory& memory,
                             const double* state, std::int64_t* position,
                             double* context);
std::int64_t MonotonicStepO3(const ColumnFirstMemory& memory,
                             const double* state, std::int64_t* position,
                             double* context);

}  // namespace attnbench::published

#endif  // ATTNBENCH_MECHANISMS_PUBLISHED_PROTOCOL_H_
