// The workload `symbols:A:B`: energies as sharp as a trained model's, of a
// memory whose entries are noisy copies of a few symbols, under any energy
// function. Every output looks for a symbol. The energy is A at the entries
// that are copies of it and -B elsewhere, each plus noise: A is how sharp p is,
// and B the background. There are T / U + 1 symbols, so that a scan that stops
// at the first copy from where it was is about at the end with the last output,
// and mass that missed a copy goes as fast as what did not.
//
// The energies stand beside random states, as captured ones do: those of the
// states are evaluated, and then replaced (SequenceInputs::captured).
#ifndef ATTNBENCH_HARNESS_INPUTS_SYMBOLS_H_
#define ATTNBENCH_HARNESS_INPUTS_SYMBOLS_H_

#include <cstdint>
#include <vector>

#include "mechanisms/common/array.h"

namespace attnbench {

// Energies [U, T] of one sequence. The noise is
// the sum of four uniform numbers, with mean 0 and variance 1: nearly normal,
// and the same on every machine, which a logarithm is not.
std::vector<float> SymbolEnergies(std::uint64_t seed, std::uint32_t stream,
                                  Index memory_length, Index output_length,
                                  float sharpness, float background);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_INPUTS_SYMBOLS_H_
