// The command line of `attnbench train`, which attnbench-train shares: so the
// program that has no libtorch knows it, too, for its help and its man page.
#ifndef ATTNBENCH_HARNESS_TRAINING_TRAIN_OPTIONS_H_
#define ATTNBENCH_HARNESS_TRAINING_TRAIN_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace attnbench {

struct TrainOptions {
  std::string experiment = {};
  std::string output = {};             // checkpoints are in OUTPUT.checkpoints
  std::vector<std::string> only = {};  // alternatives; empty: all
  bool quick = false;
  bool resume = false;
  bool force = false;             // replace a result that is there
  bool keep_checkpoints = false;  // the last one of each run
  int jobs = 1;                   // runs at the same time
  double checkpoint_seconds = 60;
};

// `options` outlives the command.
void AddTrainOptions(CLI::App& command, TrainOptions& options);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINING_TRAIN_OPTIONS_H_
