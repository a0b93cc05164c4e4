// What a run needs to go on where it stopped, and what any program needs to
// decode with a trained model: a JSON document, replaced in one piece
// (result_file.h). Numbers are f32, written so that reading gives the same
// bits.
#ifndef ATTNBENCH_HARNESS_TRAINING_CHECKPOINT_H_
#define ATTNBENCH_HARNESS_TRAINING_CHECKPOINT_H_

#include <map>
#include <string>
#include <vector>

#include "harness/training/experiment.h"
#include "harness/training/trained_result.h"

namespace attnbench {

// A parameter, with what Adam keeps of it.
struct CheckpointArray {
  std::vector<Index> shape = {};
  std::vector<double> values = {};
  std::vector<double> means = {};    // m of Adam
  std::vector<double> squares = {};  // v of Adam

  static void Fields(auto& self, auto& visit) {
    visit("shape", self.shape, kAtLeastOne);
    visit("values", self.values);
    visit("means", self.means);
    visit("squares", self.squares);
  }
};

struct Checkpoint {
  static constexpr char kTitle[] =
      "Checkpoint of attnbench train: a model, as far as it is trained";

  int schema_version = 1;
  std::string kind = "checkpoint";
  TrainingRun run;
  Index step = 0;  // of training, that are done
  double seconds = 0;
  double loss_sum = 0;  // of the steps since the last point of the curve
  std::vector<CurvePoint> curve = {};
  std::map<std::string, CheckpointArray> parameters = {};

  static void Fields(auto& self, auto& visit) {
    visit("schema_version", self.schema_version,
          Rule{.minimum = 1, .maximum = 1});
    visit("kind", self.kind, Rule{.one_of = {"checkpoint"}});
    visit("run", self.run);
    visit("step", self.step, kAtLeastZero);
    visit("seconds", self.seconds, kAtLeastZero);
    visit("loss_sum", self.loss_sum);
    visit("curve", self.curve);
    visit("parameters", self.parameters);
  }
};

// Reads a checkpoint. Throws UserError naming the file, and the place in it, if
// it is no checkpoint, is cut short, or has a step past the end, squares below
// 0, or an array whose numbers are not as many as its shape says, or beyond
// f32.
Checkpoint ReadCheckpoint(const std::string& path);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINING_CHECKPOINT_H_
