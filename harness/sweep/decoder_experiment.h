// Experiment files of kind "decoder" (experiments/README.md): which whole
// decoders are timed against each other.
//
// A point is one d with one s, L and B. Its N sources have lengths drawn from
// 0..L (SourceLengths), and as many outputs, and the end symbol; one more is
// empty. A mechanism that chooses passes the share s of the memory
// (decoder_model.h).
// "none" is the model without attention. Of the axes only chunk_width,
// num_contexts, energy (additive where nothing is said) and end have a meaning
// here.
#ifndef ATTNBENCH_HARNESS_SWEEP_DECODER_EXPERIMENT_H_
#define ATTNBENCH_HARNESS_SWEEP_DECODER_EXPERIMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "harness/model/weights.h"
#include "harness/sweep/sweep.h"

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
  Index vocabulary = ModelSizes{}.vocabulary;
  std::vector<Index> units = {ModelSizes{}.units};  // d
  std::vector<double> memory_shares = {1};          // s
  Index num_sequences = 8;
  std::vector<Index> lengths;  // L
  std::vector<Index> beams;    // B; 1: greedy
  bool has_plain = false;      // the model without attention is one of them
  std::vector<Cell> cells;     // the mechanisms, for each d with dim = d
};

// What the cells of a point share.
struct DecoderSetting {
  Index units = 0;
  double memory_share = 1;
  Index length = 0;
  Index beam = 1;
};

// One a point; those of one d and s stand together.
std::vector<DecoderSetting> SettingsOf(const DecoderExperiment& experiment);

// The mechanisms of a point.
std::vector<const Cell*> CellsOfPoint(const DecoderExperiment& experiment,
                                      const DecoderSetting& setting);
// How many cells it has, with the model without attention.
Index CellCount(const DecoderExperiment& experiment,
                const DecoderSetting& setting);

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

#endif  // ATTNBENCH_HARNESS_SWEEP_DECODER_EXPERIMENT_H_
