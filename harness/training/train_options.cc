#include "harness/training/train_options.h"

namespace attnbench {
namespace {

constexpr int kMostJobs = 1024;

}  // namespace

void AddTrainOptions(CLI::App& command, TrainOptions& options) {
  command
      .add_option("EXPERIMENT", options.experiment,
                  "e.g. experiments/training/stretch.json")
      ->required();
  command
      .add_option("-o,--output", options.output,
                  "the result (a file, never '-' or a pipe), e.g. -o "
                  "stretch.json; checkpoints go to "
                  "stretch.json.checkpoints/")
      ->type_name("FILE")
      ->required();
  command
      .add_option("--only", options.only,
                  "only these alternatives, e.g. --only soft,mocha")
      ->type_name("NAME,...")
      ->delimiter(',');
  command.add_flag("--quick", options.quick,
                   "the experiment's short profile, e.g. --quick");
  command
      .add_option("-j,--jobs", options.jobs,
                  "runs at the same time, a core each, e.g. -j 2")
      ->type_name("N")
      ->check(CLI::Range(1, kMostJobs))
      ->default_str("1");
  CLI::Option* const resume =
      command.add_flag("--resume", options.resume,
                       "go on with what is missing in the output, e.g. "
                       "-o stretch.json --resume");
  command
      .add_flag("--force", options.force,
                "replace the output file, e.g. -o stretch.json --force")
      ->excludes(resume);
  command.add_flag("--keep-checkpoints", options.keep_checkpoints,
                   "keep the last checkpoint of each run, which is the trained "
                   "model, e.g. --keep-checkpoints");
  command
      .add_option("--checkpoint-seconds", options.checkpoint_seconds,
                  "time between checkpoints, e.g. --checkpoint-seconds 10")
      ->type_name("S")
      ->check(CLI::NonNegativeNumber)
      ->default_str("60");
}

}  // namespace attnbench
