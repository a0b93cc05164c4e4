// The workload captured:FILE: energies of a user's own model decide in place of
// those that are computed (SequenceInputs::captured), so that scans go as the
// model's do. docs/sweeps.md has the format.
#ifndef ATTNBENCH_HARNESS_INPUTS_CAPTURED_H_
#define ATTNBENCH_HARNESS_INPUTS_CAPTURED_H_

#include <string>
#include <vector>

#include "harness/base/arrays.h"

namespace attnbench {

// Energies are rounded to f32, so that both precisions choose alike.
struct CapturedSequence {
  Table<float> energies;        // [U, T] of this sequence, without padding
  Table<float> chunk_energies;  // the same shape, or empty: they are computed
};

struct CapturedEnergies {
  std::vector<CapturedSequence> sequences = {};  // of all batches and heads
  Index longest_memory = 0, longest_output = 0;
  Index entries = 0, outputs = 0;  // of all sequences together
};

// Reads an .npy of energies, or an .npz with the array `energies` and, if there
// are any, `chunk_energies`, `lengths` or `mask`, and `output_lengths`. Throws
// UserError naming the place of what is not as documented.
CapturedEnergies ReadCaptured(const std::string& path);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_INPUTS_CAPTURED_H_
