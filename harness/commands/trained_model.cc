#include "harness/commands/trained_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "harness/base/error.h"
#include "harness/commands/options.h"
#include "harness/system/result_file.h"
#include "harness/training/trained_decoder.h"

namespace attnbench {
namespace {

// Reads it, and checks that a decoder takes it before anything else is done.
Checkpoint ReadModel(const std::string& path) {
  Checkpoint checkpoint = ReadCheckpoint(path);
  [[maybe_unused]] const TrainedDecoder decoder(checkpoint, path);
  return checkpoint;
}

}  // namespace

CLI::Option* AddModel(CLI::App& command, const std::string& help,
                      ModelArguments& arguments) {
  CLI::Option* const model =
      command
          .add_option("--model", arguments.path,
                      help +
                          ": a checkpoint that train --keep-checkpoints left, "
                          "e.g. --model stretch.json.checkpoints/"
                          "noise1-seed1.json")
          ->type_name("FILE");
  AddNumber(command, "--sequences", arguments.sequences, 1, kMostSequences,
            "with --model: how many of its held-out sequences, from the first "
            "on, e.g. --sequences 100 (default: as many as its experiment has)")
      ->needs(model);
  return model;
}

TrainedModel::TrainedModel(const ModelArguments& arguments,
                           const std::string& output)
    : path_(arguments.path),
      checkpoint_(ReadModel(path_)),
      num_sequences_(arguments.sequences.value_or(settings().held_out)) {
  RefuseToReplace({path_}, output);
}

void TrainedModel::CheckChooses() const {
  if (settings().is_monotonic()) return;
  std::vector<std::string> valid;
  for (const std::string& name : TrainedMechanismNames()) {
    if (TrainingSettings{.mechanism = name}.is_monotonic()) {
      valid.push_back(name);
    }
  }
  throw UserError(
      path_ + ": run.settings.mechanism",
      fmt::format("is {}, which chooses no entries, so there is no p; expected "
                  "a model of {}",
                  settings().mechanism, fmt::join(valid, ", ")));
}

std::string TrainedModel::Text() const {
  const TrainingRun& run = checkpoint_.run;
  return fmt::format(
      "{} seed {}: {} trained on {}, step {} of {}; {} of its held-out "
      "sequences",
      run.name, run.seed, settings().mechanism, settings().task,
      checkpoint_.step, settings().steps, num_sequences_);
}

}  // namespace attnbench
