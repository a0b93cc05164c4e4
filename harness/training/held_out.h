// What a trained model makes of the held-out sequences of its run: decoded
// without PyTorch, and the scores that training would start from. Threads
// share the sequences and change nothing.
#ifndef ATTNBENCH_HARNESS_TRAINING_HELD_OUT_H_
#define ATTNBENCH_HARNESS_TRAINING_HELD_OUT_H_

#include <optional>
#include <string>
#include <vector>

#include "harness/latency/latency.h"
#include "harness/training/folder.h"
#include "harness/training/trained_decoder.h"

namespace attnbench {

// The first `count` held-out sequences of a run, which outlives them: made when
// asked for, or, of own data, read at once.
class HeldOutExamples {
 public:
  // Throws as ReadFolder.
  HeldOutExamples(const TrainingRun& run, Index count);

  Example operator()(Index n) const;
  // The names of symbols; none where only numbers stand for them.
  std::vector<std::string> Names() const;

 private:
  const TrainingRun& run_;
  const std::optional<FolderData> own_;
};

// A sequence that was decoded.
struct HeldOutSequence {
  Index source_length = 0;
  std::vector<Symbol> target;  // with the end symbol
  std::vector<DecodedOutput> outputs;
};

struct HeldOutDecoding {
  std::vector<HeldOutSequence> sequences;
  std::vector<std::string> names;  // HeldOutExamples::Names
  // Edits that make the outputs the targets, and symbols of the targets, at
  // least one, both without end symbols.
  Index edits = 0, symbols = 0;
  std::optional<ThresholdDecoding> choices;  // of mechanisms that choose

  double error() const {  // token error rate, as in Evaluation
    return static_cast<double>(edits) / static_cast<double>(symbols);
  }
};

// Both take the first `count` sequences and throw UserError, naming `path`, if
// the checkpoint is none that TrainedDecoder takes, or as HeldOutExamples; this
// one also if all of their targets are empty.
HeldOutDecoding DecodeHeldOut(const Checkpoint& checkpoint,
                              const std::string& path, Index count);

// TrainedDecoder::Scores of each sequence. Throws UserError, too, if one is not
// finite.
std::vector<NamedTables> ScoresOfHeldOut(const Checkpoint& checkpoint,
                                         const std::string& path, Index count);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINING_HELD_OUT_H_
