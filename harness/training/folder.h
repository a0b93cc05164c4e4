// A user's own data as a task: docs/own_data.md says what a folder holds.
// Training reads it in Python, which checks all of it
// (python/attnbench/train/folder.py). Here its held-out utterances are read
// again for a trained model, if they are still the same.
#ifndef ATTNBENCH_HARNESS_TRAINING_FOLDER_H_
#define ATTNBENCH_HARNESS_TRAINING_FOLDER_H_

#include <string>
#include <vector>

#include "harness/training/settings.h"

namespace attnbench {

struct FolderData {
  // By the numbers of symbols; "<s>" and "</s>" come first.
  std::vector<std::string> vocabulary;
  std::vector<Example> held_out;
};

// Reads the first `count` held-out utterances of the folder of these settings.
// Throws UserError naming the folder if it is not there, has other contents
// than when the model was trained (DataFacts::hash) or fewer such utterances,
// and naming file and line if a line does not fit the facts.
FolderData ReadFolder(const TrainingSettings& settings, Index count);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINING_FOLDER_H_
