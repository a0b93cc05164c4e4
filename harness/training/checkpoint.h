// What a run needs to go on where it stopped, and what any program needs to
// decode with a trained model: a JSON document, replaced in one piece
// (result_file.h). Numbers are f32, written so that reading gives the same
// bits.
#ifndef ATTNBENCH_HARNESS_TRAINING_CHECKPOINT_H_
#define ATTNBENCH_HARNESS_TRAINING_CHECKPOINT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/training/settings.h"

namespace attnbench {

// What identifies a run.
struct TrainingRun {
  std::string name = {};
  std::uint64_t seed = 0;
  std::uint64_t held_out_seed = 0;
  TrainingSettings settings = {};

  static void Fields(auto& self, auto& visit) {
    visit("name", self.name);
    visit("seed", self.seed);
    visit("held_out_seed", self.held_out_seed);
    visit("settings", self.settings);
  }
};

// How well a model decodes held-out sequences. Errors are token error rates of
// greedy decoding that reads its own outputs: the edit distance to the target
// over the target's length, both without the end symbol, summed over the
// sequences; 0 is perfect, 1 and more possible.
struct Evaluation {
  double soft_error = 0;  // by the expectation
  // By the threshold, where there is a choice.
  std::optional<double> hard_error = {};
  // Over the outputs of the held-out set, given the target's symbols:
  double loss = 0;  // nats a symbol
  // The mean of sum over j of alpha(i, j).
  std::optional<double> selected_mass = {};
  // The share of p outside 0.05..0.95, each p(i, j) weighted by the probability
  // that output i looks at entry j.
  std::optional<double> discrete_share = {};

  static void Fields(auto& self, auto& visit) {
    visit("soft_error", self.soft_error,
          Rule{.description = "token error rate of decoding by the expectation",
               .minimum = 0});
    visit("hard_error", self.hard_error,
          Rule{.description = "token error rate of decoding by the "
                              "threshold; null: nothing is chosen",
               .minimum = 0});
    visit("loss", self.loss,
          Rule{.description = "nats a symbol, given the symbols before"});
    visit("selected_mass", self.selected_mass,
          Rule{.description = "probability that an output chooses an entry"});
    visit("discrete_share", self.discrete_share,
          Rule{.description = "share of p outside 0.05 to 0.95, weighted by "
                              "the probability that p is asked for"});
  }
};

struct CurvePoint : Evaluation {
  Index step = 0;
  double training_loss = 0;  // mean since the last point

  static void Fields(auto& self, auto& visit) {
    visit("step", self.step, kAtLeastOne);
    visit("training_loss", self.training_loss);
    Evaluation::Fields(self, visit);
  }
};

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
// it is no checkpoint, is cut short, or has an array whose numbers are not as
// many as its shape says, or beyond f32. Who goes on with its training checks
// more (python/attnbench/train/checkpoint.py).
Checkpoint ReadCheckpoint(const std::string& path);

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_TRAINING_CHECKPOINT_H_
