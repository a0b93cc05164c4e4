// The gap of a trained model (gap.h) on its held-out sequences, and what its
// parts cost: nats and errors, teacher-forced. y is the target's symbol; the
// mean is over outputs, and the numbers of gap.h's chain stand in brackets:
//
//   expectation   -ln p(y | s, c) of expected contexts [1]: training's loss,
//                 without noise
//   mean_field    what the mean state and context of sampled paths add [2 - 1]
//   sampling      what the mean of p(y | s, c) over paths adds [3 - 2]; the
//                 three together are `sampled`
//   thresholding  what the threshold's path adds to that [4 - 3]: `threshold`
//   lattice       -ln of the lattice's p(y), an estimate of `sampled`
//
// Nats add up, as total variations do not: expectation, mean_field, sampling
// and thresholding together are threshold. Intervals are over sequences, with
// Student's t.
#ifndef ATTNBENCH_HARNESS_GAP_MODEL_GAP_H_
#define ATTNBENCH_HARNESS_GAP_MODEL_GAP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "harness/gap/result.h"
#include "harness/training/checkpoint.h"

namespace attnbench {

struct ModelGapRequest {
  std::int64_t sequences = 256;
  std::int64_t paths = 10'240;  // of each sequence
  double noise = 0;
  std::optional<std::int64_t> states = {};  // all
  std::uint64_t seed = 1;
  // Called after each sequence, by one thread at a time; may be empty.
  std::function<void(std::size_t done, std::size_t total)> on_progress = {};
};

// Throws UserError naming `path` if TrainedDecoder does not take the
// checkpoint, or --states if a lattice keeps less mass than it must. The
// model is of monotonic, and there are at least 2 sequences.
ModelGap MeasureModelGap(const Checkpoint& checkpoint, const std::string& path,
                         const ModelGapRequest& request);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_GAP_MODEL_GAP_H_
