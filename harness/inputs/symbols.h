// The workload `symbols:A:K`: energies as sharp as a trained model's, of a
// memory whose entries are noisy copies of K symbols, under any energy
// function. Every output looks for a symbol. A planted path (planted.h) says
// which: no entry that its scan passes has it. The energy is A where an entry
// has the symbol and -A elsewhere, each plus noise.
//
// A is how sharp p is. K is what becomes of the mass that misses an entry: it
// meets the symbol again after about K entries. With few symbols nothing runs
// far, with as many as entries it runs on to the end.
//
// The energies stand beside random states, as captured ones do: those of the
// states are evaluated, and then replaced (SequenceInputs::captured).
#ifndef ATTNBENCH_HARNESS_INPUTS_SYMBOLS_H_
#define ATTNBENCH_HARNESS_INPUTS_SYMBOLS_H_

#include <cstdint>
#include <vector>

#include "mechanisms/common/array.h"

namespace attnbench {

// Energies [U, T] of one sequence. The noise is the sum of four uniform
// numbers, with mean 0 and variance 1: nearly normal, and the same on every
// machine, which a logarithm is not. At least 2 symbols.
std::vector<float> SymbolEnergies(std::uint64_t seed, std::uint32_t stream,
                                  Index memory_length, Index output_length,
                                  float sharpness, Index symbols);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_INPUTS_SYMBOLS_H_
