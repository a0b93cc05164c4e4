// Experiment files of kind "decoder": which whole decoders are timed against
// each other. What they say of mechanisms they say as a sweep's file does
// (experiments/README.md); beside that
//
//   {"kind": "decoder", "model": {"vocabulary", "units"}, "sequences": N,
//    "length": L or [L], "beam": B or [B],
//    "alternatives": [{"mechanism": "none"}, ...],
//    "profiles": {"quick": {"sequences", "length", "beam", ...}}}
//
// A point is one L with one B. Its N sources have lengths drawn from 0..L
// (SourceLengths), and as many outputs, and the end symbol; one more is empty.
// "none" is the model without attention. Of the axes only chunk_width,
// num_contexts, energy (additive where nothing is said) and end have a meaning
// here.
#ifndef ATTNBENCH_HARNESS_DECODER_EXPERIMENT_H_
#define ATTNBENCH_HARNESS_DECODER_EXPERIMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "harness/model/weights.h"
#include "harness/sweep.h"

namespace attnbench {

// What a cell's `mechanism` is without attention.
inline constexpr char kNoAttention[] = "none";

// The axes that an alternative may set.
inline constexpr const char* kDecoderAxes[] = {"num_contexts", "chunk_width",
                                               "energy", "end"};

struct DecoderExperiment {
  std::string name;
  std::uint64_t seed = 1;
  int repetitions = 10;  // rounds
  ModelSizes sizes;
  Index num_sequences = 8;
  std::vector<Index> lengths;  // L
  std::vector<Index> beams;    // B; 1: greedy
  bool has_plain = false;      // the model without attention is one of them
  std::vector<Cell> cells;     // the mechanisms, with dim = units
};

// Throws UserError with file and key, whichever profile is wrong. `profile` is
// "full" or "quick".
DecoderExperiment ReadDecoderExperiment(const AxisTable& table,
                                        const std::string& path,
                                        const std::string& profile);

// The lengths of the sources of a point: number n of N is drawn from the n-th
// N-th of 0..L, and its mirror image, L less that, is number N - 1 - n, so that
// few have the mean that many have; one alone, or in the middle, has L/2.
std::vector<Index> SourceLengths(std::uint64_t seed, Index longest,
                                 Index num_sequences);

// A source of that many symbols, number n of the point; no special ones.
std::vector<Symbol> DrawSource(std::uint64_t seed, Index n, Index length,
                               Index vocabulary);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_DECODER_EXPERIMENT_H_
