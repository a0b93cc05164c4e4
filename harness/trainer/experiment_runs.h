// All runs of an experiment, side by side on threads of one core each. The
// result is written again after every run, and a run that is not finished has a
// checkpoint beside it, so that whatever ends the program costs little, and
// --resume goes on.
#ifndef ATTNBENCH_HARNESS_TRAINER_EXPERIMENT_RUNS_H_
#define ATTNBENCH_HARNESS_TRAINER_EXPERIMENT_RUNS_H_

#include <cstdio>
#include <string>
#include <vector>

#include "harness/training/trained_result.h"

namespace attnbench {

struct RunOptions {
  std::string output;  // of the result; checkpoints are in OUTPUT.checkpoints
  bool resume = false;
  bool force = false;             // replace a result that is there
  bool keep_checkpoints = false;  // the last one of each run
  int jobs = 1;                   // runs at the same time
  double checkpoint_seconds = 60;
  std::FILE* progress = nullptr;  // where lines on progress go; null: nowhere
};

// The file name of a run's checkpoint in its folder.
std::string CheckpointName(const TrainingRun& run);

// Trains `runs` and adds them to `result`, which has everything else; its
// member `complete` says in the end whether all are there, or a signal came
// before (interrupt.h). Throws UserError if the output is there and may not be
// replaced, holds runs of another experiment, or cannot be written, or if a
// checkpoint is damaged or of another run.
void TrainRuns(const std::vector<TrainingRun>& runs, const RunOptions& options,
               TrainedResult& result);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINER_EXPERIMENT_RUNS_H_
