// All runs of an experiment, side by side on threads of one core each. The
// result is written again after every run, and a run that is not finished has a
// checkpoint beside it, so that whatever ends the program costs little, and
// --resume goes on.
#ifndef ATTNBENCH_HARNESS_TRAINER_EXPERIMENT_RUNS_H_
#define ATTNBENCH_HARNESS_TRAINER_EXPERIMENT_RUNS_H_

#include <cstdio>
#include <string>
#include <vector>

#include "harness/training/train_options.h"
#include "harness/training/trained_result.h"

namespace attnbench {

// Trains `runs`, of which `options` have been read already, and adds them to
// `result`, which has everything else; its member `complete` says in the end
// whether all are there, or a signal came before (interrupt.h). Throws
// UserError if the output is there and may not be replaced, holds runs of
// another experiment, or cannot be written, or if a checkpoint is damaged or of
// another run.
void TrainRuns(const std::vector<TrainingRun>& runs,
               const TrainOptions& options, std::FILE* progress,
               TrainedResult& result);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINER_EXPERIMENT_RUNS_H_
