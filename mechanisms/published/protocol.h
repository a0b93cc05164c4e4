// Makes one output of two mechanisms as a user of Eigen would (double
// precision, a matrix with the memory entries as its columns, no optimisation
// of ours), to compare our decoders with in the same rounds. protocol.cc is
// compiled twice, without optimisation and with -O3. It allocates its
// temporaries as Eigen does, outside the counted allocator.
//
// This is not the program behind MAD's figure 8, in which an entry is a row, so
// that its numbers are far apart: experiments/authors/ has that one.
#ifndef ATTNBENCH_MECHANISMS_PUBLISHED_PROTOCOL_H_
#define ATTNBENCH_MECHANISMS_PUBLISHED_PROTOCOL_H_

#include <cstdint>

namespace attnbench::published {

// Entry j is the `dim` numbers from data + j * stride on.
struct Entries {
  const double* data;
  std::int64_t length;
  std::int64_t dim;
  std::int64_t stride;
};

// Writes the context [d] of MAD eqs 2 and 3.
using SoftStep = void (*)(const Entries& memory, const double* state,
                          double* context);

// Runs MAD algorithm 1 from entry `position` on, which becomes the chosen
// entry; p >= 0.5 chooses, and the last entry is chosen unseen. Returns the
// number of energies evaluated.
using MonotonicStep = std::int64_t (*)(const Entries& memory,
                                       const double* state,
                                       std::int64_t* position, double* context);

void SoftStepO0(const Entries& memory, const double* state, double* context);
void SoftStepO3(const Entries& memory, const double* state, double* context);
std::int64_t MonotonicStepO0(const Entries& memory, const double* state,
                             std::int64_t* position, double* context);
std::int64_t MonotonicStepO3(const Entries& memory, const double* state,
                             std::int64_t* position, double* context);

}  // namespace attnbench::published

#endif  // ATTNBENCH_MECHANISMS_PUBLISHED_PROTOCOL_H_
