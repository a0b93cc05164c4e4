// Scores of many sequences in one array, as PyTorch has them: [U, T], [B, U, T]
// or [B, H, U, T], and how much of each sequence is not padding. `diagnose` and
// the workload captured:FILE read their arrays so.
#ifndef ATTNBENCH_HARNESS_INPUTS_SCORE_BATCH_H_
#define ATTNBENCH_HARNESS_INPUTS_SCORE_BATCH_H_

#include <string>
#include <vector>

#include "harness/base/arrays.h"
#include "harness/inputs/array_file.h"

namespace attnbench {

struct ScoreBatch {
  // Throws UserError if the array has another number of axes.
  explicit ScoreBatch(NumberArray given);

  NumberArray array;
  Index count = 1;       // sequences
  Index batch_size = 1;  // B; the heads of one member follow one another
  Index U = 0, T = 0;
  // Of each sequence, without padding: T and U until somebody sets them.
  std::vector<Index> entries, outputs;
};

// The same of an array that must have the shape of `other`, with its lengths.
ScoreBatch BatchLike(const ScoreBatch& other, NumberArray given);

// The lengths of the sequences where `given` has one for each member of the
// batch. Throws UserError if it has another shape, or a number that is no
// length up to `most`.
std::vector<Index> LengthsOf(const NumberArray& given, const ScoreBatch& batch,
                             Index most);

// The entries of the sequences by a mask [B, T], or [T] for scores [U, T], in
// which a 1 is padding, as in PyTorch's key_padding_mask. Throws UserError for
// another shape, for other numbers, and where padding stands before an entry.
std::vector<Index> LengthsOfMask(const NumberArray& mask,
                                 const ScoreBatch& batch);

// Which numbers an array can have.
enum class ScoreKind { kProbabilities, kEnergies, kWeights };

// The table of sequence n, cut to its lengths. Throws UserError naming the
// place of a number that its kind cannot have.
template <class Real>
Table<Real> CutTable(const ScoreBatch& batch, Index n, ScoreKind kind);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_INPUTS_SCORE_BATCH_H_
