// The workload `planted`: inputs on which a monotonic scan behaves as a trained
// one does. Random inputs do not: half of their energies are positive, so the
// scan advances one entry an output however long the memory is. Here a path of
// entries is planted, with runs and silences, that reaches the last entry with
// the last output, and the decoder states are solved for, so that the scan
// follows the path whatever the memory is.
//
// Our own Cholesky factorisation in double precision solves for them: a
// library's order of summation depends on the processor, and a draw must be the
// same numbers on every machine. Compile with -ffp-contract=off.
#ifndef ATTNBENCH_HARNESS_INPUTS_PLANTED_H_
#define ATTNBENCH_HARNESS_INPUTS_PLANTED_H_

#include <cstdint>
#include <span>
#include <vector>

#include "mechanisms/common/array.h"

namespace attnbench {

// The entry that each of `output_length` outputs chooses: never before the one
// chosen last, the last one memory_length - 1. About a quarter of the outputs
// stay where they are, the others advance by random amounts, none by more than
// max(1, dim / 2) - 1: a state has `dim` numbers and fixes the energies of all
// entries that its output inspects. Throws WorkloadUnsupported where that many
// outputs cannot get through the memory.
std::vector<Index> PlantedPath(std::uint64_t seed, std::uint32_t stream,
                               Index memory_length, Index output_length,
                               Index dim);

// States [U, d] under which the scan follows `path`. With a = 4, the energy of
// output i is +a at t(i) and -a on the entries t(i-1) .. t(i)-1 passed over,
// each plus noise in [-1, 1): s is the least-norm solution of these equations,
// rounded to f32 so that both precisions decode the same numbers. O(n^2 d +
// n^3) for an output that inspects n entries. Throws WorkloadUnsupported if the
// entries of an output are linearly dependent.
template <class Real>
std::vector<float> PlantedStates(const MatrixView<const Real>& memory,
                                 std::span<const Index> path,
                                 std::uint64_t seed, std::uint32_t stream);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_INPUTS_PLANTED_H_
