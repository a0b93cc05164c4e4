// Option --model of several commands: a model that `attnbench train` trained,
// and how many of its held-out sequences the command takes.
#ifndef ATTNBENCH_HARNESS_COMMANDS_TRAINED_MODEL_H_
#define ATTNBENCH_HARNESS_COMMANDS_TRAINED_MODEL_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "harness/training/checkpoint.h"

namespace attnbench {

struct ModelArguments {
  std::string path;
  std::optional<Index> sequences;

  bool is_given() const { return !path.empty(); }
};

// Adds --model, and --sequences for it, and gives --model; `help` says what the
// command does with it.
CLI::Option* AddModel(CLI::App& command, const std::string& help,
                      ModelArguments& arguments);

class TrainedModel {
 public:
  // Reads the checkpoint. Throws UserError naming file and place if it is none,
  // or if `output` would replace it.
  TrainedModel(const ModelArguments& arguments, const std::string& output);

  // Throws UserError naming file and place unless its mechanism chooses
  // entries, and so has p.
  void CheckChooses() const;

  const std::string& path() const { return path_; }
  const Checkpoint& checkpoint() const { return checkpoint_; }
  const TrainingSettings& settings() const { return checkpoint_.run.settings; }
  // Of its held-out sequences, from the first on.
  Index num_sequences() const { return num_sequences_; }
  // "noise1 seed 3: monotonic trained on stretch, step 900 of 900; 512 of its
  // held-out sequences"
  std::string Text() const;

 private:
  const std::string path_;
  const Checkpoint checkpoint_;
  const Index num_sequences_;
};

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_COMMANDS_TRAINED_MODEL_H_
